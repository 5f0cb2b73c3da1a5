import { parse } from 'tldts'
import type { Classification } from '../../../schemas/classification.ts'

/** Registries that take only one kind of holder, as the last labels of a name. */
const RESERVED_SUFFIXES: Readonly<Record<'education' | 'government', readonly string[]>> = {
  education: ['edu', 'ac', 'k12', 'sch', 'school', 'univ'],
  government: ['gov', 'gob', 'gouv', 'govt', 'mil', 'gub', 'gv', 'fed', 'nsn', 'police', 'jus', 'leg'],
}
/** Second-level names that mean something else, or are sold to everyone, under these top levels. */
const NOT_RESERVED = new Set(['com.ac', 'net.ac', 'org.ac', 'ac.com', 'gv.com', 'school.com', 'univ.com'])
/** Japan, Korea, Thailand, Indonesia, Kenya, Uganda and others keep `go.` for government. */
const GO_COUNTRIES = new Set(['jp', 'kr', 'th', 'id', 'ke', 'ug', 'tz', 'cr', 'ci'])
const WHOLE_NAMES: ReadonlyMap<string, Classification> = new Map([
  ['gc.ca', 'government'],
  ['canada.ca', 'government'],
  ['europa.eu', 'government'],
  ['admin.ch', 'government'],
  ['bund.de', 'government'],
  ['overheid.nl', 'government'],
  ['mod.uk', 'government'],
  ['nhs.uk', 'business'],
  ['cern.ch', 'education'],
  ['ethz.ch', 'education'],
  ['epfl.ch', 'education'],
  ['mpg.de', 'education'],
  ['fraunhofer.de', 'education'],
])

/** Domains of infrastructure, in which the reverse names of customers' and visitors' addresses lie. */
const PROVIDERS: Readonly<Record<'isp' | 'hosting' | 'cloud' | 'cdn', string>> = {
  isp: `
    comcast.net comcast.com comcastbusiness.net charter.com spectrum.com rr.com twcable.com cox.net verizon.net myvzw.com
    vzwentp.net verizon.com att.net sbcglobal.net att.com bellsouth.net mycingular.net centurylink.com centurylink.net qwest.net
    frontiernet.net frontier.com windstream.net optonline.net suddenlink.net mediacomcc.net mchsi.com rcn.com rcncustomer.com
    wowinc.com cableone.net t-mobile.com tmodns.net sprint.com spcsdns.net sonic.net hughes.net viasat.com starlinkisp.net
    earthlink.net tds.net gci.net cogentco.com level3.net lumen.com zayo.com he.net bell.ca bell.net rogers.com shawcable.net
    shaw.ca telus.net telus.com videotron.ca cogeco.ca eastlink.ca sasktel.net teksavvy.com telmex.com prod-infinitum.com.mx
    megared.net.mx totalplay.com.mx izzi.mx virtua.com.br vivozap.com.br telesp.net.br gvt.net.br timbrasil.com.br
    telecom.com.ar fibertel.com.ar speedy.com.ar telecentro.com.ar vtr.net entelchile.net une.net.co etb.net.co
    telekom.de t-ipconnect.de t-dialin.net telekom.com vodafone.de vodafone-ip.de kabel-deutschland.de unitymedia.de
    unitymediagroup.de telefonica.de o2.de netcologne.de ewetel.net ewetel.de m-online.net versatel.de versanet.de htp.net
    btcentralplus.com bt.com btopenworld.com virginm.net virginmedia.com sky.com skybroadband.com talktalk.net as13285.net
    plus.net plus.com zen.co.uk eir.ie eircom.net orange.fr wanadoo.fr proxad.net free.fr bbox.fr bouyguestelecom.fr sfr.fr
    sfr.net numericable.fr telenet.be skynet.be proximus.be voo.be kpn.net kpn.com ziggo.nl upc.nl xs4all.nl chello.nl
    swisscom.ch bluewin.ch sunrise.ch sunrise.net salt.ch init7.net a1.net chello.at kabsi.at telecomitalia.it
    business.telecomitalia.it interbusiness.it fastwebnet.it wind.it vodafonedsl.it tiscali.it rima-tde.net telefonica.es
    telefonica.com jazztel.es ono.com orange.es euskaltel.es telepac.pt netcabo.pt meo.pt nos.pt tpnet.pl neostrada.pl orange.pl
    netia.com.pl vectranet.pl upc.pl o2.cz cetin.cz upc.cz telekom.hu t-online.hu digikabel.hu rdsnet.ro rcs-rds.ro vivacom.bg
    otenet.gr cosmote.gr forthnet.gr ttnet.com.tr turktelekom.com.tr superonline.net turkcell.com.tr t.ht.hr telia.com telia.net
    telenor.com telenor.no tele2.com bredband.net comhem.se bahnhof.se altibox.no get.no tdc.net tdc.dk stofanet.dk elisa.fi
    elisa-laajakaista.fi dnainternet.fi bezeqint.net 012.net.il netvision.net.il rt.ru rostelecom.ru ertelecom.ru mts.ru
    megafon.ru beeline.ru corbina.ru kyivstar.net ukrtel.net volia.net telecom.kz chinatelecom.cn chinaunicom.com chinamobile.com
    163data.com.cn netvigator.com hkbn.net hinet.net so-net.net.tw ocn.ne.jp kddi.com dion.ne.jp bbtec.net softbank.jp
    so-net.ne.jp biglobe.ne.jp plala.or.jp asahi-net.or.jp nttpc.ne.jp docomo.ne.jp kt.com kornet.net skbroadband.com uplus.co.kr
    viettel.vn vnpt.vn fpt.vn trueinternet.co.th 3bb.co.th totinternet.net telkom.net.id telkom.co.id indosat.com tm.com.my
    tm.net.my singnet.com.sg starhub.net.sg pldt.net pldt.com globe.com.ph airtel.in airtel.com jio.com bsnl.in bsnl.co.in
    mtnl.net.in hathway.com actcorp.in ptcl.net.pk etisalat.ae emirates.net.ae stc.com.sa telstra.net telstra.com tpgi.com.au
    optusnet.com.au iinet.net.au aussiebb.com.au aussiebb.net internode.on.net spark.co.nz xtra.co.nz telkomsa.net mtn.com
    mtn.co.za vodacom.co.za safaricom.co.ke tedata.net iam.net.ma`,
  hosting: `
    hetzner.com hetzner.de your-server.de clients.your-server.de ovh.net ovh.com ovh.ca kimsufi.com leaseweb.com leaseweb.net
    contabo.net contabo.com contaboserver.net ionos.com 1and1.com onlinehome-server.info online-server.info kundenserver.de
    strato.de stratoserver.net netcup.net netcup.de hosteurope.de serverkompetenz.net infomaniak.com infomaniak.ch gandi.net
    poneytelecom.eu online.net worldstream.nl transip.net transip.nl nforce.com aruba.it arubacloud.com m247.com voxility.com
    godaddy.com secureserver.net bluehost.com unifiedlayer.com websitewelcome.com hostgator.com dreamhost.com liquidweb.com
    inmotionhosting.com siteground.com hivelocity.net quadranet.com colocrossing.com racknerd.com hostwindsdns.com hostwinds.com
    choopa.com choopa.net vultr.com vultrusercontent.com rackspace.com interserver.net namecheap.com web-hosting.com
    privatedns.com singlehop.com phoenixnap.com servers.com selectel.ru timeweb.ru beget.ru firstvds.ru sakura.ne.jp
    xserver.jp startdedicated.com hostinger.com main-hosting.eu hstgr.cloud reliablesite.net cyberfuel.com ip-vps.net
    equinix.com digitalrealty.com`,
  cloud: `
    amazonaws.com amazonaws.com.cn awsglobalaccelerator.com googleusercontent.com cloud.google.com 1e100.net azure.com
    cloudapp.net cloudapp.azure.com azurewebsites.net windows.net oraclecloud.com oraclevcn.com softlayer.com
    digitalocean.com linode.com linodeusercontent.com members.linode.com scaleway.com scw.cloud upcloud.host upcloud.com
    exoscale.com aliyun.com aliyuncs.com alibabacloud.com tencentcloud.com myqcloud.com huaweicloud.com yandexcloud.net
    selcloud.ru stackit.cloud open-telekom-cloud.com kamatera.com`,
  cdn: `
    cloudflare.com cloudflare.net akamai.com akamaitechnologies.com akamaiedge.net akamai.net fastly.com fastly.net
    edgecastcdn.net edgecast.com llnw.net limelight.com stackpathcdn.com cdn77.com datapacket.com b-cdn.net bunny.net
    incapdns.net imperva.com cloudfront.net gcore.com gcdn.co cdnetworks.com cachefly.net wscdns.com chinacache.com`,
}

/** Characters of a domain name. */
export const NAME_MAX = 253

let providers: ReadonlyMap<string, Classification> | undefined

function providerDomains(): ReadonlyMap<string, Classification> {
  if (providers === undefined) {
    const map = new Map<string, Classification>()
    for (const [classification, list] of Object.entries(PROVIDERS)) {
      for (const domain of list.split(/\s+/)) if (domain !== '') map.set(domain, classification as Classification)
    }
    providers = map
  }
  return providers
}

/** What a host or domain name says of its holder. */
export interface DomainFinding {
  readonly classification: Classification
  /** The part of the name that decided. */
  readonly part: string
}

/** Names under registries that are kept for schools and governments: `.edu`, `.gov.uk`, `.go.jp`, `bund.de`. */
export function findReservedDomain(name: string): DomainFinding | undefined {
  const labels = splitLabels(name)
  for (let i = 0; i < labels.length; i++) {
    const part = labels.slice(i).join('.')
    const classification = WHOLE_NAMES.get(part)
    if (classification !== undefined) return { classification, part }
  }
  const top = labels.at(-1)
  const second = labels.at(-2)
  if (top === undefined || second === undefined) return undefined
  if (['edu', 'gov', 'mil'].includes(top)) return reserved(top, top)
  // Only two-letter top levels divide themselves this way.
  if (labels.length < 3 || top.length !== 2 || NOT_RESERVED.has(`${second}.${top}`)) return undefined
  if (second === 'go') return GO_COUNTRIES.has(top) ? { classification: 'government', part: `go.${top}` } : undefined
  // `k12.ca.us`: the United States put the state in between.
  return (
    reserved(second, `${second}.${top}`) ?? (top === 'us' ? reserved(labels.at(-3)!, `${labels.at(-3)}.us`) : undefined)
  )
}

function reserved(label: string, part: string): DomainFinding | undefined {
  if (RESERVED_SUFFIXES.education.includes(label)) return { classification: 'education', part }
  if (RESERVED_SUFFIXES.government.includes(label)) return { classification: 'government', part }
  return undefined
}

/** Names under the domain of a known provider. */
export function findProviderDomain(name: string): DomainFinding | undefined {
  const known = providerDomains()
  const labels = splitLabels(name)
  for (let i = 0; i < labels.length - 1; i++) {
    const part = labels.slice(i).join('.')
    const classification = known.get(part)
    if (classification !== undefined) return { classification, part }
  }
  return undefined
}

/** The label that its holder chose: `acme` of `www.acme.co.uk`; undefined when there is none. */
export function ownLabel(name: string): string | undefined {
  if (name.length > NAME_MAX) return undefined
  return parse(name, { validateHostname: false }).domainWithoutSuffix ?? undefined
}

function splitLabels(name: string): string[] {
  // Longer ones are no names (RFC 1035 section 2.3.4), and the work below is quadratic.
  if (name.length > NAME_MAX) return []
  return name
    .toLowerCase()
    .split('.')
    .filter((label) => label !== '')
}
