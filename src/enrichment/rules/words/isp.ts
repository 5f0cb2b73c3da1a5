import type { WordList } from '../word-table.ts'

/**
 * What access providers and carriers call themselves. A weight of 4 decides against a single ordinary word of another
 * kind, 3 decides by itself, 2 only for the holder of an AS (see `score-name.ts`), 1 only together with another word.
 */
export const ISP_WORDS: readonly WordList[] = [
  {
    classification: 'isp',
    weight: 5,
    words: `
      internet service provider, internet services provider, internet service providers, internet access provider
      telephone company, telephone cooperative, telephone association, telephone co, telephone corporation
      cable television, cable tv, rural telephone, mutual telephone, telephone exchange, telecom operator
      telecommunication services, telecommunications services, mobile network, mobile communications, mobile broadband
      fixed network, cable internet, internet backbone, tier 1 carrier, provedor de internet, proveedor de internet
      provedores de internet, fournisseur d acces, servicos de internet, servicios de internet, services internet
      fttx services, internet exchange, internet exchange point, ip transit, broadband services, residential broadband
    `,
  },
  {
    classification: 'isp',
    weight: 4,
    words: `
      telekom*, telecom*, telcom*, telkom*, *telecom, *telekom, *telcom, *telecom*, *telekom*, telecoms, telco
      telcos, *telco
      telefon*, *telefon, telefonica, telefonia, telefonie, telephone, telephones, telephony
      broadband*, *broadband*, isp, isps, wisp, *wisp, wireless isp
      dsl, adsl, vdsl, xdsl, *adsl, ftth, fttx, gpon, docsis, catv, *catv, cablevision*, *cablevision, cabletv
      puhelin*, *puhelin, bredband*, *bredband, breitband*, *breitband, breedband*, laajakaista*, banda ancha
      banda larga, *bandaancha
      glasfaser*, *glasfaser, glasvezel*, *glasvezel, kabeltelevisie, kabelfernsehen, kabel tv
      provedor, provedores, teleservices, wireless internet, wifi internet
      // Russian, Ukrainian, Bulgarian, Kazakh
      телеком*, *телеком, *телекома, *телеком*, електронни съобщения, электросвязь, оператор связи
      // Turkish, Hungarian, Baltic, Greek, Vietnamese, Indonesian
      iletisim, haberlesme, telekomunikasyon, tavkozles*, hirkozles*, sakaru, τηλεπικοινων*, vien thong, telekomunikasi
      // Chinese, Japanese, Korean, Thai, Arabic, Hebrew
      電信, 电信, 電訊, 电讯, 通信, 联通, 聯通, 移动通信, 宽带, 寬頻, 有线电视, 有線電視, 铁通, 광대역, 통신, 텔레콤, 브로드밴드
      テレコム, 電話, ケーブルテレビ, ブロードバンド, โทรคมนาคม, อินเทอร์เน็ต, اتصالات, الاتصالات, للاتصالات, תקשורת
    `,
  },
  {
    classification: 'isp',
    weight: 3,
    words: `
      internet, *internet, internet*, interneto, internetu, wireless, *wireless, wifi, *wifi, wi fi, wimax, hotspot
      hotspots
      fiber, *fiber, fiber*, fibre, *fibre, fibra, *fibra, fibras, fibernet*, fibranet*, fiberoptic, fibreoptic
      fiberlink*, fibraoptica, optical network
      cable, *cable, cables modem, cabletelevision, cabo, kabel*, *kabel, telecable*, telewizja kablowa, *kablo
      kablo*, kablov*
      cellular, gsm, lte, *mobil, mobilnet, *mobile, movil, moviles, movistar, telemovil, komorkowa
      backbone, dial up, dialup, *phone, teleport, satcom, vsat
      communication services, satellite communications, satellite internet, wireless communications
      data communication, data communications, datacom, datacomm, datacommunication*
      comunicac*, telecomunic*, comunicazioni, communicatie, kommunikations*, kommunikasjon, kommunikation
      // Slavic, Turkish, Romanian, Hungarian
      svyaz*, sviaz*, *svyaz, *sviaz, zviazok, интернет*, *интернет, связь, *связь, звязок, *звязок, телефон*
      кабель*, сети связи
      halozat*, internetszolgaltato, comunicatii, telekomunik*, teleoperator
      // Chinese and Japanese
      网络, 網路, 網絡, 寬帶, 移动, 移動, 互联网, 數碼通訊, インターネット, 인터넷, 케이블
      internet solutions, isp services, net services, netservices, netprovider, netcom*, *netcom
    `,
  },
  {
    classification: 'isp',
    weight: 2,
    words: `
      communication, communications, comunicacion, comunicacao, communicaties, comms, *comms, *communications
      network, networks, networking, net, nets, *net, *nett, *nets, *networks, netz, *netz, netze, *netze, netwerk*
      *netwerk
      networx, *networx, networld, nettverk*, natverk*, verkko*, siec, sieci, siet, siete, seti, *seti, сеть, сети
      сет, redes, rede, reseau, reseaux, *redes
      mobile, mobil, mobility, satellite, satelite, satelital, satelit, tele*, tel, *tel, *fone, *kom, *link, *links
      connect, connect*, *connect
      conecta*, *conecta, conect*, conexao, conexoes, conexion*, conexia, connexion, conectividad*, provider, providers
      carrier, airband, *band, *network, sat, *sat, datalink, uplink, *beam, *tv, jaringan
      banda, cybercafe, cyber cafe, net cafe, netcafe, speednet, *speed, online services
      komunikasi, komunikacije, kommunikatsii, коммуникаций, kabelova, kablova
      sistemas de comunicacion, voip, *voip, voz, dados, *com networks, isp asn
    `,
  },
  {
    classification: 'isp',
    weight: 1,
    words: `
      carriers, connectivity, online, *online, media, multimedia, *wave, *line, web, *web, access, acceso, acesso
      digital, datos, optic, optica
      optics, linkup, *air, speed, turbo, fast, rural, valley, *vox, voice, telematic*, telematica, infocom*
      service provider
    `,
  },
  {
    // Ordinary words that only look like the ones above.
    classification: 'neutral',
    weight: 0,
    words: `
      planet, magnet, magnets, cabinet, cabinets, bonnet, garnet, hornet, sonnet, internetworking, tournament, sunset
      asset, *assets, reset, dataset, onset
      motel, bechtel, prosiebensat*, pusat, *sehat, otomobil*, connection, connections, meridianlink, avnet
      rumah sakit, *hotel, castel, chatel, martel, cartel, mattel, intel, wintel, nickel, pastel, chapel, israel
      kartel, nortel, mortel, mittel, panel
      online retail, pipeline, pipelines, streamline, outline, guideline, vaseline, gasoline, line, hair, chair
      repair, affair, fair, flair, blair, clair, sinclair, adair, altair
      teledyne, teledoc, teladoc, telegraph, telemetry, telemedicine, teleflex, teleperformance, telefunken, telerik
      telestream, telemundo, televisa, telemarketing, teleatendimento, teleradio*, telesales, telegram, telehealth
      telus health, tel aviv, tele columbus pension, telescope, telescopes
      carphone, headphone, headphones, iphone, saxophone, blink, wink, pink, ink, drink, zink, think, link, links
      clink, kom, applicable, fable
      set, websites, website, kabelwerk*, kabelwerke, wirecable, kabelschlepp*, connecticut, cufflinks, golf links
      missouri, *automobile, *automobil, snowmobile, mobiles, mobiler, *immobil, immobilien, immobiliare
      immobiliaria, mobilia, mobiliar, mobilier, mobiliario
      connector, connectors, disconnect, internetional, carrier corporation, carrier global, common carrier
      motor carrier
      sunbeam, moonbeam, beam, band, husband, headband, armband, rubberband, contraband, wristband, waistband, saturn
      satin, satyam, tv
      microfiber, fiberglass, fibreglass, carbon fiber, fiberon, fiberboard, sweet, feet, fleet, street, meet, diet
      racket, basket, markets, ticket, tickets, *market, *markets, jacket, rocket, pocket, toilet, pet, wallet
      bullet, tablet, cadet
      access bank, accessory, accessories, digital media, bazaar, kommunalkredit
    `,
  },
]
