import { NOISE, NOISE_CLASSES, type NoiseClass } from '../../../../schemas/classification.ts'
import { classifyAsNumber } from '../../rules/as-numbers.ts'

/**
 * Words in the names of popular lists, by class. The first class with a match wins, so that CloudFront is a CDN and not
 * Amazon's cloud.
 */
const WORDS: readonly (readonly [noiseClass: NoiseClass, words: string])[] = [
  [
    'cdn',
    'akamai bunny bunnycdn cachefly cdn cdn77 cloudflare cloudfront edgecast edgio fastly frontdoor gcore imperva incapsula ' +
      'keycdn limelight stackpath sucuri',
  ],
  [
    'cloud',
    'alibaba aliyun amazon applebot aws azure bing bingbot cloud ec2 gcp github goog google googlebot huaweicloud ibmcloud ' +
      'microsoft oci oracle softlayer tencent yandexcloud',
  ],
  [
    'hosting',
    'contabo datacamp datacenter datacenters datacentre digitalocean hetzner hosting hostinger ionos kamatera leaseweb ' +
      'linode m247 ovh ovhcloud proxies proxy rackspace scaleway tor upcloud vpn vpns vps vultr',
  ],
  ['isp', 'isp isps mobile residential starlink'],
]
const CLASS_OF_WORD = WORDS.map(([noiseClass, words]) => [noiseClass, words.split(' ')] as const)

/** The class that a file's name states as its first word: `cloud-aws.txt`. */
export function statedClass(file: string): NoiseClass | undefined {
  const word = /^([a-z]+)[-_.]/i.exec(file)?.[1]?.toLowerCase()
  return NOISE_CLASSES.find((noiseClass) => noiseClass === word)
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
