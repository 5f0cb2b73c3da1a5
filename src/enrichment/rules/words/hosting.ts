import type { WordList } from '../word-table.ts'

/** What hosters, data centres, clouds and content networks call themselves; the weights are those of `isp.ts`. */
export const HOSTING_WORDS: readonly WordList[] = [
  {
    classification: 'hosting',
    weight: 5,
    words: `
      data center, data centers, data centre, data centres, hosting, *hosting, hosting*, *hosting*, webhost*
      *webhost, web host, web hosts, web hosting, dedicated server
      dedicated servers
      dedicated hosting, root server, root servers, rootserver*, virtual private server, virtual private servers
      virtual server, virtual servers
      hebergement*, hebergeur, hospedaje, hospedagem, hostovani, webhotel*, webbhotell*, webhuset, barindirma
      tarhely*, хостинг*, *хостинг
      虚拟主机, 主机, 主機, ホスティング, レンタルサーバー, 호스팅, โฮสติ้ง, hosting provider
    `,
  },
  {
    classification: 'hosting',
    weight: 4,
    words: `
      datacenter*, *datacenter, datacentre*, *datacentre, datacentr*, *datacenter*, datacentrum, datacentar
      datasenter, data centrum
      data centar, *idc, datacenters, centro de datos, veri merkezi, centre de donnees, дата центр, датацентр*, цод
      数据中心, 數據中心, データセンター, 데이터센터, internet data center, idc
      vps, *vps, vps*, vpn, *vpn, vpn*, proxy, proxies, *proxy, seedbox*, colocation*, collocation, kolokacja, *colo
      colo, colohouse bare metal, baremetal*
      sunucu*, servidores, servidor, serveurs, serveur, серверы, сервер, game servers, gameserver*, gameservers
      server hosting, server farm, serverfarm*, managed hosting, ddos*, anti ddos
      ip leasing, ipv4 leasing, ip lease, tor exit
    `,
  },
  {
    classification: 'hosting',
    weight: 3,
    words: `
      host, hosts, *host, host*, hosted, *hosts, server, servers, *server, *servers, server*, *serv, rackspace, *rack
      rack*, vds, *vds, iaas, paas
      rechenzentrum, domain names, domain name, domain registrar, domains, dedi*, dedicated, dedicated*, colo4*
      managed servers
      webspace*, web solutions, web services, webservices
    `,
  },
  {
    classification: 'hosting',
    weight: 2,
    words: `
      virtualization, virtual machines, compute, hostmaster, registrar, web presence, *layer, packet*, *packet
      storage cloud, vm, kvm, *node, nodes
    `,
  },
  {
    classification: 'cloud',
    weight: 5,
    words: `
      cloud computing, cloud compute, cloud infrastructure, cloud platform, cloud services, cloud service
      public cloud, cloud provider, nuvem, bulut bilisim, 云计算, 雲端, 云服务, クラウド, 클라우드, облач*, elastic compute
    `,
  },
  {
    classification: 'cloud',
    weight: 4,
    words: `cloud, clouds, *cloud, cloud*, bulut, облако, *облако, 阿里云, 腾讯云, 华为云`,
  },
  {
    classification: 'cdn',
    weight: 6,
    words: `
      cdn, *cdn, cdn*, cdns, content delivery, content delivery network, content distribution network
      content distribution, edge network services
      内容分发, 网宿, 加速
    `,
  },
  {
    classification: 'neutral',
    weight: 0,
    words: `
      player, players, multilayer, prayer, slayer, bricklayer, packet clearing house, ghost, hostel, hostels
      hostess*, hostetler*, hosta, hostile, hostos, hostage*, serverless, observer, *observer, preserver, preserve
      conserver, serve, conserv*, dedic, dedication, dedicate*
      cloudy, colombia, colorado, colonial, colony, color*, colour*, colon, colognia, cologne, columbus, piccolo
      protocolo, pinocolo, nevada dc, washington dc, rack, track, *track, crack, barrack*, cracker, rackham, vermont
    `,
  },
]
