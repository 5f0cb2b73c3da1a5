import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadDataFile, NotDataError, providerNameOf } from '../../../src/enrichment/files/data-file.ts'
import { DEFAULT_ENRICHMENT_LIMITS } from '../../../src/enrichment/limits.ts'
import { InputError } from '../../../src/run/errors.ts'
import { address, temporaryFolder } from '../../support/enrichment-data.ts'

interface Published {
  readonly file: string
  readonly text: string
  readonly recognisedAs: string
  /** Class by address; undefined when the file says nothing. */
  readonly classes: Readonly<Record<string, string | undefined>>
  /** Bot by address. */
  readonly bots?: Readonly<Record<string, string | undefined>>
  readonly builtAt?: string
}

const FILES: readonly Published[] = [
  {
    file: 'cloud-acme.txt',
    text: '# Acme\n81.2.69.0/24\n\n2001:218::/32 # Oxford\r\n81.2.70.1\n',
    recognisedAs: 'list of cloud networks',
    classes: { '81.2.69.1': 'cloud', '2001:218::1': 'cloud', '81.2.70.1': 'cloud', '81.2.70.2': undefined },
  },
  { file: 'CDN-acme.TXT', text: '81.2.69.0/24', recognisedAs: 'list of cdn networks', classes: { '81.2.69.1': 'cdn' } },
  {
    file: 'hosting-acme.txt',
    text: '81.2.69.0/24',
    recognisedAs: 'list of hosting networks',
    classes: { '81.2.69.1': 'hosting' },
  },
  { file: 'isp-acme.txt', text: '81.2.69.0/24', recognisedAs: 'list of isp networks', classes: { '81.2.69.1': 'isp' } },
  {
    file: 'ip-ranges.json',
    text: JSON.stringify({
      syncToken: '1755857000',
      createDate: '2025-08-22-10-03-04',
      prefixes: [
        { ip_prefix: '81.2.70.0/24', region: 'GLOBAL', service: 'CLOUDFRONT', network_border_group: 'GLOBAL' },
        { ip_prefix: '81.2.70.0/24', region: 'GLOBAL', service: 'AMAZON', network_border_group: 'GLOBAL' },
        { ip_prefix: '81.2.69.0/24', region: 'eu-west-1', service: 'AMAZON', network_border_group: 'eu-west-1' },
      ],
      ipv6_prefixes: [{ ipv6_prefix: '2001:218::/32', region: 'eu-west-1', service: 'EC2' }],
    }),
    recognisedAs: 'AWS ip-ranges',
    classes: { '81.2.69.1': 'cloud', '81.2.70.1': 'cdn', '2001:218::1': 'cloud', '81.2.71.1': undefined },
    builtAt: '2025-08-22T10:03:04.000Z',
  },
  {
    file: 'bot-googlebot.json',
    text: JSON.stringify({
      creationTime: '2026-08-14T05:00:00Z',
      prefixes: [{ ipv4Prefix: '81.2.69.0/24' }, { ipv6Prefix: '2001:218::/32' }],
    }),
    recognisedAs: 'Google IP ranges',
    classes: { '81.2.69.1': 'bot', '2001:218::1': 'bot' },
    bots: { '81.2.69.1': 'googlebot', '2001:218::1': 'googlebot' },
    builtAt: '2026-08-14T05:00:00.000Z',
  },
  {
    // As its operator names it.
    file: 'user-triggered-agents.json',
    text: JSON.stringify({ prefixes: [{ ipv4Prefix: '81.2.69.0/24' }] }),
    recognisedAs: 'Google IP ranges',
    classes: { '81.2.69.1': 'bot' },
    bots: { '81.2.69.1': 'google-agent' },
  },
  {
    file: 'chatgpt-user.json',
    text: JSON.stringify({ prefixes: [{ ipv4Prefix: '81.2.69.0/28' }] }),
    recognisedAs: 'Google IP ranges',
    classes: { '81.2.69.1': 'bot' },
    bots: { '81.2.69.1': 'chatgpt-user' },
  },
  {
    file: 'bot-ahrefsbot.json',
    text: JSON.stringify({ ips: [{ ip_address: '81.2.69.1' }, { ip_address: '2001:218::1' }] }),
    recognisedAs: 'list of addresses',
    classes: { '81.2.69.1': 'bot', '81.2.69.2': undefined, '2001:218::1': 'bot' },
    bots: { '81.2.69.1': 'ahrefsbot' },
  },
  {
    file: 'bot-several.txt',
    text: '81.2.68.0/24\n# bot: pingdom\n# https://example.org\n81.2.69.1\n\n# bot: uptimerobot\n81.2.70.1\n2001:218::/32\n',
    recognisedAs: 'list of bot networks',
    classes: { '81.2.68.1': 'bot', '81.2.69.1': 'bot', '81.2.70.1': 'bot', '2001:218::1': 'bot' },
    bots: { '81.2.68.1': undefined, '81.2.69.1': 'pingdom', '81.2.70.1': 'uptimerobot', '2001:218::1': 'uptimerobot' },
  },
  {
    file: 'torbulkexitlist.txt',
    text: '81.2.69.1\n81.2.70.1\n',
    recognisedAs: 'list of vpn networks, as its name suggests',
    classes: { '81.2.69.1': 'vpn', '81.2.69.2': undefined },
  },
  {
    file: 'egress-ip-ranges.csv',
    text: '81.2.69.0/31,GB,GB-EN,London,\n2001:218::/64,DE,DE-BE,Berlin,\n',
    recognisedAs: 'geofeed of vpn networks, as its name suggests',
    classes: { '81.2.69.1': 'vpn', '2001:218::1': 'vpn' },
  },
  {
    file: 'goog.json',
    text: JSON.stringify({
      syncToken: '1755857000000',
      creationTime: '2025-08-22T03:03:20.123456',
      prefixes: [{ ipv4Prefix: '81.2.69.0/24' }, { ipv6Prefix: '2001:218::/32', service: 'Google Cloud', scope: 'eu' }],
    }),
    recognisedAs: 'Google IP ranges',
    classes: { '81.2.69.1': 'cloud', '2001:218::1': 'cloud' },
    builtAt: '2025-08-22T03:03:20.123Z',
  },
  {
    file: 'ServiceTags_Public_20250818.json',
    text: JSON.stringify({
      changeNumber: 1,
      cloud: 'Public',
      values: [
        { name: 'AzureCloud', properties: { addressPrefixes: ['81.2.69.0/24', '2001:218::/32'] } },
        { name: 'AzureFrontDoor.Frontend', properties: { addressPrefixes: ['81.2.70.0/24'] } },
      ],
    }),
    recognisedAs: 'Azure service tags',
    classes: { '81.2.69.1': 'cloud', '2001:218::1': 'cloud', '81.2.70.1': 'cdn' },
  },
  {
    file: 'public_ip_ranges.json',
    text: JSON.stringify({
      last_updated_timestamp: '2025-08-22T10:00:00.000000',
      regions: [{ region: 'uk-london-1', cidrs: [{ cidr: '81.2.69.0/24', tags: ['OCI'] }] }],
    }),
    recognisedAs: 'Oracle Cloud public IP ranges',
    classes: { '81.2.69.1': 'cloud' },
    builtAt: '2025-08-22T10:00:00.000Z',
  },
  {
    file: 'public-ip-list.json',
    text: JSON.stringify({ addresses: ['81.2.69.0/24'], ipv6_addresses: ['2001:218::/32'] }),
    recognisedAs: 'Fastly public IP list',
    classes: { '81.2.69.1': 'cdn', '2001:218::1': 'cdn' },
  },
  {
    file: 'ips-v4',
    text: '81.2.69.0/24\n81.2.71.0/24',
    recognisedAs: 'Cloudflare IPs',
    classes: { '81.2.71.1': 'cdn' },
  },
  { file: 'ips-v6', text: '2001:218::/32', recognisedAs: 'Cloudflare IPs', classes: { '2001:218::1': 'cdn' } },
  {
    file: 'cloudflare.json',
    text: JSON.stringify({ result: { ipv4_cidrs: ['81.2.69.0/24'], ipv6_cidrs: ['2001:218::/32'] }, success: true }),
    recognisedAs: 'Cloudflare IPs',
    classes: { '81.2.69.1': 'cdn', '2001:218::1': 'cdn' },
  },
  {
    file: 'meta.json',
    text: JSON.stringify({
      verifiable_password_authentication: false,
      ssh_key_fingerprints: { SHA256_RSA: 'x' },
      ssh_keys: ['ssh-ed25519 AAAA'],
      hooks: ['81.2.69.0/24', '2001:218::/32'],
      web: ['81.2.69.0/24'],
      actions: ['81.2.70.0/24'],
      domains: { website: ['*.github.com'] },
    }),
    recognisedAs: 'GitHub meta',
    classes: { '81.2.69.1': 'cloud', '81.2.70.1': 'cloud', '2001:218::1': 'cloud' },
  },
  {
    file: 'vultr.json',
    text: JSON.stringify({
      description: 'Vultr',
      asn: 20473,
      updated: '2025-08-22T10:00:00Z',
      subnets: [
        { ip_prefix: '81.2.69.0/24', alpha2code: 'GB', region: 'GB-ENG', city: 'London', postal_code: 'SW1' },
        { ip_prefix: '2001:218::/32', alpha2code: '', region: '', city: '', postal_code: null },
      ],
    }),
    recognisedAs: 'Vultr geofeed',
    classes: { '81.2.69.1': 'hosting', '2001:218::1': 'hosting' },
    builtAt: '2025-08-22T10:00:00.000Z',
  },
  {
    file: 'feed-of-acme.txt',
    text: '# prefix,country\n81.2.69.0/24,GB,GB-ENG,London,\n',
    recognisedAs: 'geofeed of hosting networks',
    classes: { '81.2.69.1': 'hosting' },
  },
  {
    // Output of `whois -h whois.radb.net -- '-i origin AS13335' | grep ^route`.
    file: 'cdn-acme-routes.txt',
    text: 'route:      81.2.69.0/24\nroute6:     2001:218::/32\n',
    recognisedAs: 'route objects of cdn networks',
    classes: { '81.2.69.1': 'cdn', '2001:218::1': 'cdn' },
  },
  {
    file: 'radb.txt',
    text: `% whois

route:      81.2.69.0/24
descr:      Two lines
            of text
+           and a third
origin:     AS13335
source:     RADB

route6:     2001:218::/32
origin:     AS64500 # of the same holder
`,
    recognisedAs: 'route objects of cdn networks',
    classes: { '81.2.69.1': 'cdn', '2001:218::1': 'cdn' },
  },
  ...(
    [
      ['aws.txt', 'cloud'],
      ['googlebot-ips.txt', 'bot'],
      ['Amazon_CloudFront.txt', 'cdn'],
      ['cloudflare-v4.txt', 'cdn'],
      ['ovh.txt', 'hosting'],
      ['tor-exit-nodes.txt', 'vpn'],
      ['my-isp-list.txt', 'isp'],
    ] as const
  ).map(([file, noiseClass]) => ({
    file,
    text: '81.2.69.0/24\n',
    recognisedAs: `list of ${noiseClass} networks, as its name suggests`,
    classes: { '81.2.69.1': noiseClass },
  })),
  {
    file: 'ipv4.txt',
    text: '# Cloudflare\n# of today\n81.2.69.0/24 # aws\n',
    recognisedAs: 'list of cdn networks, as its first lines suggest',
    classes: { '81.2.69.1': 'cdn' },
  },
  {
    file: 'google.csv',
    text: '# geofeed\n81.2.69.0/24,GB,GB-ENG,London,SW1\n2001:218::/32,de,,,\n81.2.70.0/24,,,,\n81.2.71.0/24,FR,FR-IDF,Paris\n',
    recognisedAs: 'geofeed of cloud networks, as its name suggests',
    classes: { '81.2.69.1': 'cloud', '2001:218::1': 'cloud', '81.2.70.1': 'cloud', '81.2.71.1': 'cloud' },
  },
  {
    file: 'isp-feed.csv',
    text: '81.2.69.0/24,GB,GB-ENG,London,\n',
    recognisedAs: 'geofeed of isp networks',
    classes: { '81.2.69.1': 'isp' },
  },
]

const load = async (dir: string, file: string, text: string) => {
  await writeFile(join(dir, file), text)
  const name = providerNameOf(file)
  assert.ok(name !== undefined, file)
  return loadDataFile({ path: join(dir, file), name, limits: DEFAULT_ENRICHMENT_LIMITS })
}

for (const published of FILES) {
  test(`${published.file} is recognised as ${published.recognisedAs}`, async (t) => {
    const list = await load(await temporaryFolder(t), published.file, published.text)
    assert.equal(list.kind, 'noise')
    assert.equal(list.recognisedAs, published.recognisedAs)
    assert.equal(list.builtAt?.toISOString(), published.builtAt)
    for (const [ip, expected] of Object.entries(published.classes)) {
      assert.equal(list.find(address(ip))?.evidence.explicit, expected, ip)
    }
    for (const [ip, expected] of Object.entries(published.bots ?? {})) {
      assert.equal(list.find(address(ip))?.evidence.bot, expected, ip)
    }
  })
}

test('a file that is no list is skipped; one with networks of no class is refused', async (t) => {
  const dir = await temporaryFolder(t)
  await assert.rejects(load(dir, 'notes.txt', 'Dear reader'), NotDataError)
  await assert.rejects(load(dir, 'acme.txt', '81.2.69.0/24'), (error: unknown) => !(error instanceof NotDataError))
})

test('a geofeed knows where its networks are', async (t) => {
  const list = await load(await temporaryFolder(t), 'feed.csv', '81.2.69.0/24,gb,GB-ENG,London,SW1\n')
  assert.deepEqual(list.find(address('81.2.69.1'))?.data, {
    country_code: 'GB',
    region: 'GB-ENG',
    city: 'London',
    postal_code: 'SW1',
  })
})

test('a wrong network refuses the list, with its place and the reason', async (t) => {
  const dir = await temporaryFolder(t)
  const wrong: readonly (readonly [file: string, text: string, reason: RegExp])[] = [
    ['cloud-a.txt', '81.2.69.0/24\n\n81.2.69.0/99\n', /^line 3: "81\.2\.69\.0\/99"/],
    ['cloud-a.txt', '# nothing\n', /no networks/],
    [
      'bot-a.txt',
      '# bot: nobody\n81.2.69.0/24\n',
      /^line 1: "nobody" is not a bot that is known: must be other, googlebot, /,
    ],
    ['cloud-a.txt', '', /empty/],
    ['ips-v4', '<html>', /^line 1: "<html>" is not a network/],
    ['goog.json', '{"prefixes":[{"ipv4Prefix":"81.2.69.0/24"},{"ipv4Prefix":"x"}]}', /^network 2: "x"/],
    ['goog.json', '{"prefixes":[{"ipv4Prefix":"81.2.69', /^not JSON/],
    ['other.json', '{"hello":1}', /not a known format of a range file: an object with hello/],
    ['other.json', '[]', /not a JSON object/],
    [
      'feed.csv',
      '81.2.70.0/24,Britain,,,\n',
      /^the geofeed holds no networks: .*line 1: "Britain" is not a country code/,
    ],
    [
      'acme.txt',
      '81.2.69.0/24\n',
      /^acme\.txt lists networks, but its name states no class: start it with isp-, hosting-, cloud-, cdn-, vpn- or bot-$/,
    ],
    ['aws-notes.txt', 'Dear reader', /states no class of networks/],
    [
      'routes.txt',
      'route: 81.2.69.0/24\norigin: AS64500\n',
      /^routes\.txt lists networks of AS64500, but its name states no class/,
    ],
    ['cdn-r.txt', 'route: 81.2.69.0/24\n\nroute: 81.2.69.0/99\n', /^line 3: "81\.2\.69\.0\/99"/],
    ['cdn-r.txt', 'route: 81.2.69.0/24\nnonsense\n', /^line 2: "nonsense" is not an attribute of a route object/],
    [
      'vultr.json',
      '{"subnets":[{"ip_prefix":"81.2.69.0/24","alpha2code":"Britain"}]}',
      /^the file holds no networks: .*network 1: "Britain" is not a country/,
    ],
    ['notes.txt', 'Dear reader', /states no class of networks: start it with isp-, hosting-, cloud-, cdn-, vpn-, bot-/],
  ]
  for (const [file, text, reason] of wrong) {
    await assert.rejects(load(dir, file, text), (error: unknown) => {
      assert.ok(error instanceof InputError)
      assert.match(error.message, reason)
      return true
    })
  }
})

test('providers are named after their files', () => {
  const names: Record<string, string | undefined> = {
    'GeoLite2-ASN.mmdb': 'geolite2-asn',
    'companies.csv.gz': 'companies',
    'Companies.NDJSON': 'companies',
    'ip-ranges.json': 'ip-ranges',
    'cloud-aws.v2.txt': 'cloud-aws.v2',
    'ips-v4': 'ips-v4',
    'ips-v4.txt': 'ips-v4',
    'sources.json': undefined,
    'geolite2-asn.mmdb.json': undefined,
    '.hidden.csv': undefined,
    'upload.csv.part': undefined,
    'README.md': undefined,
    'companies.csv~': undefined,
  }
  for (const [file, name] of Object.entries(names)) assert.equal(providerNameOf(file), name, file)
})
