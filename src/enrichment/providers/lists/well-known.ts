import { type Bot, isBot } from '../../../../schemas/bots.ts'
import { NOISE, NOISE_CLASSES, type NoiseClass } from '../../../../schemas/classification.ts'
import { classifyAsNumber } from '../../rules/as-numbers.ts'

/**
 * Words in the names of popular lists, by class. The first class with a match wins, so that CloudFront is a CDN and not
 * Amazon's cloud.
 */
const WORDS: readonly (readonly [noiseClass: NoiseClass, words: string])[] = [
  [
    'bot',
    'ahrefsbot amazonbot applebot bingbot bot bots ccbot claudebot crawler crawlers duckduckbot fetchers googlebot gptbot ' +
      'perplexitybot searchbot spider spiders uptimerobot',
  ],
  ['vpn', 'egress exits mullvad nordvpn proxies proxy protonvpn relay tor torbulkexitlist vpn vpns zscaler'],
  [
    'cdn',
    'akamai bunny bunnycdn cachefly cdn cdn77 cloudflare cloudfront edgecast edgio fastly frontdoor gcore imperva incapsula ' +
      'keycdn limelight stackpath sucuri',
  ],
  [
    'cloud',
    'alibaba aliyun amazon aws azure cloud ec2 gcp github goog google huaweicloud ibmcloud ' +
      'microsoft oci oracle softlayer tencent yandexcloud',
  ],
  [
    'hosting',
    'contabo datacamp datacenter datacenters datacentre digitalocean hetzner hosting hostinger ionos kamatera leaseweb ' +
      'linode m247 ovh ovhcloud rackspace scaleway upcloud vps vultr',
  ],
  ['isp', 'isp isps mobile residential starlink'],
]
const CLASS_OF_WORD = WORDS.map(([noiseClass, words]) => [noiseClass, words.split(' ')] as const)

/** The class that a file's name states as its first word: `cloud-aws.txt`. */
export function statedClass(file: string): NoiseClass | undefined {
  const word = /^([a-z]+)[-_.]/i.exec(file)?.[1]?.toLowerCase()
  return NOISE_CLASSES.find((noiseClass) => noiseClass === word)
}

/** Names of published files that differ from the name of the bot. */
const FILES: Readonly<Record<string, Bot>> = {
  'common-crawlers': 'googlebot',
  'special-crawlers': 'google-special',
  'user-triggered-fetchers': 'google-fetcher',
  'user-triggered-fetchers-google': 'google-fetcher',
  'user-triggered-agents': 'google-agent',
  searchbot: 'oai-searchbot',
}

/** The bot that a file's name states: `bot-googlebot.json`, `gptbot.json`, `special-crawlers.json`. */
export function botOfFile(file: string): Bot | undefined {
  const name = file.toLowerCase().replace(/\.(?:json|txt|csv)(?:\.gz)?$/, '')
  const bare = name.replace(/^bot[-_.]/, '')
  return FILES[bare] ?? (isBot(bare) ? bare : undefined)
}

/** The class that a word in a text suggests. The text is a file's name or the comments at its top. */
export function suggestedClass(text: string): NoiseClass | undefined {
  const words = new Set(text.toLowerCase().split(/[^a-z0-9]+/))
  return CLASS_OF_WORD.find(([, known]) => known.some((word) => words.has(word)))?.[0]
}

/** The class of the first AS number that is known to be noise. */
export function classOfOrigins(origins: readonly number[]): NoiseClass | undefined {
  for (const asn of origins) {
    const classification = classifyAsNumber(asn)
    const found = NOISE_CLASSES.find((noiseClass) => noiseClass === classification)
    if (found !== undefined && NOISE.has(found)) return found
  }
  return undefined
}
