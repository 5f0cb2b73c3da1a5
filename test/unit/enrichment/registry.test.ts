import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { NOISE } from '../../../schemas/classification.ts'
import { parseNetwork } from '../../../src/enrichment/addresses/network.ts'
import { wordRange } from '../../../src/enrichment/addresses/word-range.ts'
import { Snapshot } from '../../../src/enrichment/answers/snapshot.ts'
import { NestedRanges } from '../../../src/enrichment/files/build/nested-ranges.ts'
import { readOrganisations } from '../../../src/enrichment/files/build/registry-writer.ts'
import { TextPool } from '../../../src/enrichment/files/build/text-pool.ts'
import { compileFolder } from '../../../src/enrichment/files/compiled/compile.ts'
import { loadDataFile, NotDataError, providerNameOf } from '../../../src/enrichment/files/data-file.ts'
import { DataFolder } from '../../../src/enrichment/files/folder.ts'
import { DEFAULT_ENRICHMENT_LIMITS, DEFAULT_ENRICHMENT_LIMITS as LIMITS } from '../../../src/enrichment/limits.ts'
import type { Provider } from '../../../src/enrichment/providers/provider.ts'
import { useOfBlock } from '../../../src/enrichment/rules/block-holder.ts'
import { readNameWords } from '../../../src/enrichment/rules/score-name.ts'
import { parseAddress } from '../../../src/pipeline/event/address.ts'
import { heapBytes } from '../../support/memory.ts'

let dir: string
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'ipid-registry-'))
})
after(() => rm(dir, { recursive: true }))

async function load(text: string | Buffer, file = 'ripe.db.inetnum'): Promise<Provider> {
  const path = join(dir, file)
  await writeFile(path, text)
  try {
    return await loadDataFile({ path, name: providerNameOf(file)!, limits: LIMITS })
  } finally {
    await rm(path)
  }
}

function nameAt(provider: Provider, ip: string): unknown {
  return provider.find(parseAddress(ip)!)?.data.business_name
}

function block(range: string, lines: string, status = 'ASSIGNED PA'): string {
  return `${range.includes(':') ? 'inet6num' : 'inetnum'}:        ${range}\nnetname:        NET\n${lines}\nstatus:         ${status}\nsource:         RIPE\n\n`
}

test('the rules tell customers from pools, providers, persons and blocks without a name', async () => {
  const text = await readFile(new URL('../../support/registry-blocks.tsv', import.meta.url), 'utf8')
  const rows = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  assert.ok(rows.length >= 40)
  for (const row of rows) {
    const [use, status, range, netname, descr, name, type, maintainer] = row.split('\t') as string[]
    const network = parseNetwork(range!)
    assert.ok(typeof network !== 'string' && network.version !== 'as', range)
    const size =
      network.version === 4 ? network.last - network.first + 1 : Number((network.last - network.first + 1n) >> 68n)
    const found = useOfBlock({
      netname: netname!,
      descr: descr === '' ? [] : descr!.split('|'),
      status: status!,
      size,
      organisation: name ? { name, isLir: type === 'LIR' } : undefined,
      maintainers: [maintainer!],
    })
    const finding = found.kind === 'holder' ? readNameWords(found.name, 'organisation') : undefined
    const isNoise = finding !== undefined && NOISE.has(finding.classification)
    const called = found.kind === 'holder' && !isNoise ? 'customer' : found.kind === 'purpose' ? 'pool' : 'none'
    assert.equal(called, use, `${netname}: ${JSON.stringify(found)}`)
  }
})

test('a customer is named without the text around its name', () => {
  const nameOf = (...descr: string[]) => {
    const use = useOfBlock({
      netname: 'NET',
      descr,
      status: 'ASSIGNED PA',
      size: 8,
      organisation: undefined,
      maintainers: [],
    })
    return use.kind === 'holder' ? use.name : use
  }
  assert.equal(nameOf('Network for FGUP "Kometa"'), 'FGUP "Kometa"')
  assert.equal(nameOf('Carrier customer: Sidera Logistics'), 'Sidera Logistics')
  assert.equal(nameOf('(VR000128) Volkov Archive,', 'Tver'), 'Volkov Archive')
  assert.equal(
    nameOf('Department of Monuments of', 'the Ministry of Culture'),
    'Department of Monuments of the Ministry of Culture',
  )
  assert.equal(nameOf('Oltremare office LAN'), 'Oltremare')
})

function useOf(name: string, maintainer = 'CARRIER-MNT', size = 8) {
  return useOfBlock({
    netname: name.toUpperCase().replace(/\W+/g, '-'),
    descr: [name],
    status: 'ASSIGNED PA',
    size,
    organisation: undefined,
    maintainers: [maintainer],
  })
}

test('a private person is no customer, nor is a name that may be one in a script that is not known', () => {
  for (const name of [
    'Hans Müller, Bahnhofstr. 5',
    'John Smith - home office',
    'Γιώργος Παπαδόπουλος',
    'محمد أحمد',
    '山田太郎',
  ])
    assert.notEqual(useOf(name).kind, 'holder', name)
  for (const name of ['株式会社アクメ', 'Παπαδόπουλος AE', 'Стальной Завод ОАО'])
    assert.equal(useOf(name).kind, 'holder', name)
})

test('only a maintainer with all distinctive words of the name is the holder itself', () => {
  for (const [name, maintainer] of [
    ['Swiss Post Ltd', 'SWISSCOM-MNT'],
    ['Deutsche Bank AG', 'DEUTSCHE-GLASFASER-MNT'],
    ['Hotel Adlon GmbH', 'HOTELNET-MNT'],
    ['City Hospital', 'CITYNET-MNT'],
    ['Orange County Council', 'ORANGE-MNT'],
  ] as const)
    assert.equal(useOf(name, maintainer).kind, 'holder', name)
  for (const [name, maintainer] of [
    ['Kombi GmbH', 'KOMBI-MNT'],
    ['Blue Anvil Ltd', 'MNT_BLUE_ANVIL'],
    ['Blue Anvil Ltd', 'BLUEANVIL-MNT'],
  ] as const)
    assert.equal(useOf(name, maintainer).kind, 'network', name)
})

test('a company whose name has a word for a purpose is a customer', () => {
  for (const name of [
    'Proxy Media GmbH',
    'BRAS Architects Ltd',
    'VDS Schadenverhuetung GmbH',
    'Subscribers Magazine Ltd',
    'Colo Colo Club SA',
    'BNG Bank NV',
  ]) {
    assert.equal(useOf(name).kind, 'holder', name)
    assert.equal(useOf(name, 'CARRIER-MNT', 256).kind, 'holder', `${name}, with its name in the netname`)
  }
  for (const name of ['proxy servers', 'BRAS Tver', 'VPS', 'loopbacks']) assert.equal(useOf(name).kind, 'purpose', name)
})

test('the organisations of a registry take no more memory than their names', async () => {
  const path = join(dir, 'large.db')
  const remarks = `remarks: ${'x'.repeat(200)}\n`.repeat(5)
  const organisations = Array.from(
    { length: 20_000 },
    (_, i) => `organisation: ORG-ANVILS${i}-RIPE\n${remarks}org-name: Anvil Works of Tintown ${i}\n\n`,
  )
  await writeFile(path, organisations.join(''))
  organisations.length = 0
  const before = heapBytes()
  const read = await readOrganisations(path, LIMITS)
  const grown = heapBytes() - before
  assert.equal(read.size, 20_000)
  assert.ok(grown < 8_000_000, `${Math.round(grown / 1e6)} MB of heap`)
})

test('objects are read as RFC 2622 and the registries write them', async () => {
  const provider = await load(
    Buffer.concat([
      Buffer.from(
        '% header\n# comment\n\ninetnum:        192.000.002.000 - 192.0.2.7\r\nnetname: A\r\ndescr:   Anvil Works\r\n',
      ),
      Buffer.from('+        of Tintown Ltd\r\nstatus:  assigned pa # old\r\nsource: RIPE # Filtered\r\n\r\n'),
      Buffer.from('person:  Dummy person for DUMY-RIPE\nnic-hdl: DUMY-RIPE\ndescr: Secret Person Ltd\n\n'),
      Buffer.from(block('192.0.2.16 - 192.0.2.23', 'descr: M\u00fcller Maschinenbau GmbH'), 'latin1'),
      Buffer.from(block('2001:db8:1::/48', 'descr: Стальной Завод ОАО'), 'utf8'),
      Buffer.from(
        'inetnum: 192.0.2.24/29\nnetname: B\ndescr: Last One Ltd\nstatus: ASSIGNED PA\nlast-modified: 2026-03-06T19:09:12Z',
      ),
    ]),
  )
  assert.equal(nameAt(provider, '192.0.2.7'), 'Anvil Works')
  assert.equal(nameAt(provider, '192.0.2.16'), 'Müller Maschinenbau GmbH')
  assert.equal(nameAt(provider, '2001:db8:1::5'), 'Стальной Завод ОАО')
  assert.equal(nameAt(provider, '192.0.2.31'), 'Last One Ltd')
  assert.equal(nameAt(provider, '192.0.2.8'), undefined)
  assert.equal(provider.networkOf(parseAddress('192.0.2.20')!), '192.0.2.16/29')
  assert.equal(provider.records, 4)
  assert.equal(provider.kind, 'registry')
  assert.deepEqual(provider.builtAt, new Date('2026-03-06'))
})

test('a block that cannot be read is skipped and reported with its line', async () => {
  const provider = await load(
    `${block('192.0.2.0 - 192.0.2.7', 'descr: Anvil Works Ltd\nno attribute')}inetnum: 192.0.2.300 - 192.0.2.310\ndescr: X Ltd\n\n`,
  )
  assert.equal(nameAt(provider, '192.0.2.1'), 'Anvil Works Ltd')
  assert.deepEqual(provider.warnings, [
    'skipped entries: 1 (line 4: "no attribute" is not an attribute)',
    'skipped entries: 1 (line 8: "192.0.2.300 - 192.0.2.310" is not a range of addresses)',
  ])
})

test('the most specific customer wins; a pool inside its block is the customer, a pool of a provider has no name', async () => {
  const provider = await load(
    `${block('192.0.0.0 - 192.0.255.255', 'descr: Example Carrier AG', 'ALLOCATED PA')}${[
      block('192.0.2.0 - 192.0.2.255', 'descr: dynamic IP pool'),
      block('192.0.3.0 - 192.0.3.7', 'descr: Example Carrier Services AG'),
      block('192.0.3.8 - 192.0.3.15', 'descr: Anvil Works Ltd'),
      block('198.51.100.0 - 198.51.103.255', 'descr: Falken Optics Ltd', 'ASSIGNED PI'),
      block('198.51.100.128 - 198.51.100.255', 'descr: DHCP pool'),
      block('198.51.101.0 - 198.51.101.127', 'descr: Daughter Lenses Ltd'),
    ].join('')}`,
  )
  const purposeAt = (ip: string) => provider.find(parseAddress(ip)!)?.evidence.allocation
  assert.equal(nameAt(provider, '192.0.1.1'), undefined)
  assert.equal(nameAt(provider, '192.0.2.9'), undefined)
  assert.equal(purposeAt('192.0.2.9'), 'dynamic ip')
  assert.equal(nameAt(provider, '192.0.3.1'), undefined, 'the name of the provider itself')
  assert.equal(nameAt(provider, '192.0.3.9'), 'Anvil Works Ltd')
  assert.equal(nameAt(provider, '198.51.100.1'), 'Falken Optics Ltd')
  assert.equal(nameAt(provider, '198.51.100.200'), 'Falken Optics Ltd')
  assert.equal(nameAt(provider, '198.51.101.5'), 'Daughter Lenses Ltd')
  assert.equal(nameAt(provider, '198.51.101.200'), 'Falken Optics Ltd')
})

test('nested ranges become the pieces that a scan of all ranges finds', () => {
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % below
  }
  for (const [version, at] of [
    [4, 0xffff_ff00],
    [4, 0],
    [6, 0],
  ] as const) {
    for (let round = 0; round < 50; round++) {
      const ranges = new NestedRanges(version)
      const added: [first: number, last: number][] = []
      const split = (first: number, last: number, depth: number) => {
        added.push([first, last])
        if (depth === 4 || last === first) return
        const middle = first + random(last - first)
        if (random(3) > 0) split(first, middle, depth + 1)
        if (random(3) > 0) split(middle + 1, last, depth + 1)
      }
      split(random(100), 150 + random(106), 0)
      const all = added.map((range, i) => ({ range, i, key: random(1_000) })).sort((a, b) => a.key - b.key)
      for (const { range, i } of all) {
        const [first, last] = [at + range[0], at + range[1]]
        ranges.add(
          wordRange(version === 4 ? { version, first, last } : { version, first: BigInt(first), last: BigInt(last) }),
          i,
        )
      }
      const { starts, records } = ranges.pieces((number) => number).finish()
      const width = version === 4 ? 1 : 4
      for (let address = 0; address < 256; address++) {
        let found = -1
        for (let piece = 0; piece < records.length && starts[width * piece + width - 1]! <= at + address; piece++) {
          found = records[piece]!
        }
        const inside = all.filter(({ range: [first, last] }) => first <= address && address <= last)
        const sizes = inside.map(({ range: [first, last] }) => last - first)
        // The later one of equal ranges wins.
        const wanted = inside.filter((_, i) => sizes[i] === Math.min(...sizes)).at(-1)?.i ?? -1
        assert.equal(found, wanted, `address ${address} of ${JSON.stringify(added)}`)
      }
    }
  }
})

test('the pool of texts gives equal texts one number, across its growth', () => {
  const pool = new TextPool()
  const numbers = Array.from({ length: 200_000 }, (_, i) => pool.add(`Müller ${i % 150_000} 株式会社`))
  assert.equal(pool.size, 150_000)
  assert.equal(numbers[199_999], numbers[49_999])
  assert.equal(pool.at(numbers[149_999]!), 'Müller 149999 株式会社')
  assert.equal(pool.at(pool.add('')), '')
})

test('a customer outranks the name of the AS, and a pool makes an unknown AS an access provider', async () => {
  const registry = await load(
    `${block('192.0.2.0 - 192.0.2.7', 'descr: Anvil Works Ltd')}${block('192.0.2.128 - 192.0.2.255', 'descr: dynamic IP pool')}`,
  )
  const asTable = await load('network,asn,as_name\n192.0.2.0/24,64500,Ostrava Veterinary s.r.o.\n', 'as.csv')
  const asn: Provider = {
    ...asTable,
    name: 'as',
    kind: 'asn',
    find: (address) => asTable.find(address),
    networkOf: () => undefined,
  }
  const snapshot = new Snapshot([registry, asn], DEFAULT_ENRICHMENT_LIMITS, (_, error) => assert.fail(String(error)))
  const customer = snapshot.resolve(parseAddress('192.0.2.1')!)
  assert.match(String(customer.data?.business_name), /^Anvil Works/)
  assert.equal(customer.data?.classification, 'business')
  assert.equal(customer.data?.as_name, 'Ostrava Veterinary s.r.o.')
  const pool = snapshot.resolve(parseAddress('192.0.2.200')!)
  assert.equal(pool.data?.classification, 'isp')
})

const INETNUM = `inetnum: 192.0.2.0 - 192.0.2.7\nnetname: A\norg: ORG-A1-RIPE\nstatus: ASSIGNED PA\n\n`
const ORGANISATION = `organisation: ORG-A1-RIPE\norg-name: Anvil Works Ltd\norg-type: OTHER\n\n`

test('organisations come from the file beside a split file, or from the same file', async () => {
  const whole = await load(gzipSync(INETNUM + ORGANISATION), 'afrinic.db.gz')
  assert.equal(whole.name, 'afrinic')
  assert.equal(nameAt(whole, '192.0.2.1'), 'Anvil Works Ltd')
  const alone = await load(INETNUM)
  assert.equal(nameAt(alone, '192.0.2.1'), undefined)
  assert.deepEqual(alone.warnings, ['ripe.db.organisation.gz is missing: it names the holders of 1 blocks'])
  const organisations = await load(gzipSync(ORGANISATION), 'ripe.db.organisation.gz')
  assert.equal(organisations.recognisedAs, 'RPSL organisations')
  assert.equal(organisations.records, 1)
  assert.equal(nameAt(organisations, '192.0.2.1'), undefined)
})

test('a truncated file is refused, another kind of file ignored', async () => {
  const whole = gzipSync(INETNUM.repeat(5_000))
  await assert.rejects(
    load(whole.subarray(0, whole.length - 20), 'ripe.db.inetnum.gz'),
    /cannot be decompressed: unexpected end of file/,
  )
  await assert.rejects(load('no registry', 'thumbs.db'), NotDataError)
  await assert.rejects(load(Buffer.alloc(2_000_000, 'SQLite format 3\0'), 'thumbs.db'), NotDataError)
})

test('a split file is compiled apart, and again when its organisations change', async () => {
  const [folder, cache] = [join(dir, 'folder'), join(dir, 'cache')]
  await mkdir(folder)
  const path = join(folder, 'ripe.db.inetnum.gz')
  const many = Array.from({ length: 3_000 }, (_, i) =>
    block(`10.${i >> 8}.${i & 255}.0 - 10.${i >> 8}.${i & 255}.7`, `descr: Firm ${i} Ltd`),
  )
  await writeFile(path, gzipSync(INETNUM + many.join('')))
  const log = pino({ level: 'silent' })
  const watched = new DataFolder(folder, DEFAULT_ENRICHMENT_LIMITS, log, () => {}, { compiledDir: cache })
  const compile = async () => {
    const done = []
    for await (const { about } of compileFolder(folder, cache)) done.push(about)
    return done
  }
  const named = (ip: string) => nameAt(watched.files.find(({ path: file }) => file === path)!.provider!, ip)
  await watched.look(true)
  assert.match(watched.files[0]!.reason ?? '', /being compiled/)
  assert.equal((await compile()).length, 1)
  await watched.look(true)
  assert.equal(named('10.1.0.5'), 'Firm 256 Ltd')
  assert.equal(named('192.0.2.1'), undefined)

  await writeFile(join(folder, 'ripe.db.organisation.gz.part'), gzipSync(ORGANISATION))
  await rename(join(folder, 'ripe.db.organisation.gz.part'), join(folder, 'ripe.db.organisation.gz'))
  await watched.look(true)
  assert.equal(named('10.1.0.5'), 'Firm 256 Ltd', 'the previous data stay in use')
  assert.equal((await compile()).length, 1)
  await watched.look(true)
  assert.equal(named('192.0.2.1'), 'Anvil Works Ltd')

  await truncate(path, 9_000)
  assert.match(JSON.stringify(await compile()), /unexpected end of file/)
  await watched.look(true)
  const file = watched.files.find(({ path: other }) => other === path)!
  assert.equal(file.state, 'stale')
  assert.match(file.reason ?? '', /cannot be decompressed/)
  assert.equal(named('192.0.2.1'), 'Anvil Works Ltd')
})
