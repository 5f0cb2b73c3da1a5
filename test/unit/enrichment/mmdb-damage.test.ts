import assert from 'node:assert/strict'
import { test } from 'node:test'
import { typed } from '../../../src/enrichment/providers/mmdb/encode.ts'
import { openMmdb } from '../../../src/enrichment/providers/mmdb/open.ts'
import { loadMmdb, UnknownMmdbError } from '../../../src/enrichment/providers/mmdb/provider.ts'
import { MmdbWriter } from '../../../src/enrichment/providers/mmdb/writer.ts'
import { InputError } from '../../../src/run/errors.ts'
import { address, mmdb } from '../../support/enrichment-data.ts'

const city = (name: string, latitude: number) => ({
  city: { names: { en: name } },
  country: { iso_code: 'GB', names: { en: 'United Kingdom' } },
  location: { latitude: typed('double', latitude), longitude: typed('double', -1.25), time_zone: 'Europe/London' },
})

const whole = mmdb('GeoLite2-City', {
  '81.2.69.0/24': city('London', 51.5),
  '2.125.160.0/20': city('Boxford', 51.75),
  '2001:218::/32': city('Oxford', 52),
})

const load = (bytes: Buffer) => loadMmdb({ name: 'city', bytes, mapping: undefined, recordsBytesMax: 100_000 })

const refused = (reason: RegExp) => (error: unknown) => error instanceof InputError && reason.test(error.message)

test('an empty file, one that is no MMDB and a compressed one are refused', async () => {
  await assert.rejects(openMmdb(Buffer.alloc(0)), refused(/the file is empty/))
  await assert.rejects(openMmdb(Buffer.from('network,business_name\n')), refused(/no metadata/))
  await assert.rejects(openMmdb(Buffer.from([0x1f, 0x8b, 8, 0])), refused(/compressed/))
})

test('a file cut anywhere is refused', async () => {
  for (let length = 1; length < whole.length; length += 7) {
    await assert.rejects(openMmdb(whole.subarray(0, length)), InputError, `first ${length} bytes`)
  }
  for (let missing = 1; missing < 600; missing += 13) {
    await assert.rejects(openMmdb(whole.subarray(missing)), InputError, `without the first ${missing} bytes`)
  }
})

test('a file without records is refused', async () => {
  await assert.rejects(openMmdb(mmdb('GeoLite2-City', {})), refused(/holds no networks/))
})

test('a tree that points past the data is refused', async () => {
  const bytes = Buffer.from(
    mmdb('GeoLite2-City', { '81.2.69.0/24': city('London', 51.5) }, { recordSize: 32, ipVersion: 4 }),
  )
  bytes.writeUInt32BE(0x00ff_ffff, 4)
  await assert.rejects(openMmdb(bytes), refused(/points outside the data/))
})

test('a tree with a cycle is refused; one whose branches meet is not', async () => {
  const records = { '81.2.69.0/24': { city: 'London' } }
  const nodes = 24
  const cycles = [
    [0, 0],
    [23, 0],
    [10, 3],
    [23, 22],
  ] as const
  for (const [from, to] of cycles) {
    const bytes = Buffer.from(mmdb('GeoLite2-City', records, { recordSize: 32, ipVersion: 4 }))
    const empty = [0, 4].map((half) => from * 8 + half).find((at) => bytes.readUInt32BE(at) === nodes)!
    bytes.writeUInt32BE(to, empty)
    await assert.rejects(openMmdb(bytes), refused(new RegExp(`a cycle: node ${from} leads back to node ${to}$`)))
  }
  const twice = Buffer.from(mmdb('GeoLite2-City', records, { recordSize: 32, ipVersion: 4 }))
  const [left, right] = [twice.readUInt32BE(0), twice.readUInt32BE(4)]
  twice.writeUInt32BE(Math.min(left, right), left < right ? 4 : 0)
  assert.equal((await openMmdb(twice)).networks, 1)
})

test('a tree with more levels than an address has bits is refused', async () => {
  const bytes = Buffer.from(mmdb('GeoLite2-City', { '2001:218::1/128': { city: 'Oxford' } }, { recordSize: 32 }))
  const marker = bytes.lastIndexOf('ip_version')
  const at = bytes.indexOf(6, marker + 'ip_version'.length)
  bytes[at] = 4
  await assert.rejects(openMmdb(bytes), refused(/more levels than an address has bits: 32/))
})

test('a double of the wrong size is refused', async () => {
  const bytes = Buffer.from(whole)
  const at = bytes.indexOf(Buffer.from([0x68, 0x40, 0x49, 0xe0]))
  assert.ok(at > 0, 'the latitude of Boxford')
  bytes[at] = 0x67
  await assert.rejects(openMmdb(bytes), refused(/has type 3 and the wrong size 7/))
})

test('a pointer past the data is refused', async () => {
  const bytes = Buffer.from(mmdb('GeoLite2-City', { '81.2.69.0/24': { city: { names: { en: 'London' } } } }))
  const key = bytes.indexOf('names')
  // Turns the text into a pointer of two bytes, which leads far past this small section.
  bytes[key - 1] = 0x27
  await assert.rejects(openMmdb(bytes), InputError)
})

test('a file with any byte changed is refused, or answers without ending the process', async () => {
  const addresses = ['81.2.69.1', '2.125.160.1', '2001:218::1', '1.1.1.1'].map(address)
  let opened = 0
  for (let at = 0; at < whole.length; at++) {
    const bytes = Buffer.from(whole)
    bytes[at] = bytes[at]! ^ (1 << (at % 8))
    try {
      const provider = await load(bytes)
      opened++
      for (const ip of addresses) provider.find(ip)
    } catch (error) {
      assert.ok(error instanceof InputError, `byte ${at}: ${(error as Error).stack}`)
    }
  }
  assert.ok(opened > 0)
})

test('a file with unknown records is reported with its type and the members of its records', async () => {
  const bytes = mmdb('Acme Intelligence', { '81.2.69.0/24': { firm: { title: 'Acme' }, sector: 'Anvils' } })
  await assert.rejects(load(bytes), (error: unknown) => {
    assert.ok(error instanceof UnknownMmdbError)
    assert.equal(error.databaseType, 'Acme Intelligence')
    assert.deepEqual(error.keys, ['firm', 'firm.title', 'sector'])
    assert.match(error.message, /Acme Intelligence.*firm\.title.*\.mmdb\.json/)
    return true
  })
})

test('a mapping makes an unknown file known; an invalid mapping says its fault', async () => {
  const bytes = mmdb('Acme Intelligence', {
    '81.2.69.0/24': { firm: { title: 'Acme' }, sector: 'Anvils', as: 'AS64500' },
  })
  const map = (mapping: string) => loadMmdb({ name: 'acme', bytes, mapping, recordsBytesMax: 100_000 })
  const provider = await map('{"business_name": "firm.title", "industry": ["nothing", "sector"], "asn": "as"}')
  assert.equal(provider.kind, 'company')
  assert.deepEqual(provider.find(address('81.2.69.1'))?.data, {
    business_name: 'Acme',
    org_name: 'Acme',
    industry: 'Anvils',
    asn: 64_500,
  })
  await assert.rejects(map('{"business_name"'), refused(/not JSON/))
  await assert.rejects(map('[]'), refused(/not a JSON object/))
  await assert.rejects(map('{}'), refused(/empty/))
  await assert.rejects(map('{"bussiness_name": "x"}'), refused(/"bussiness_name".*business_name/))
  await assert.rejects(map('{"business_name": 7}'), refused(/must be a path/))
})

test('a large file is checked in slices, so that requests are answered in between', async () => {
  const writer = new MmdbWriter({ databaseType: 'GeoLite2-ASN', buildEpoch: 1_760_000_000 })
  for (let i = 0; i < 60_000; i++) {
    const first = 0x0b000000 + i * 256
    writer.insert(
      { version: 4, first, last: first + 255 },
      { autonomous_system_number: i + 1, autonomous_system_organization: `Example ${i}` },
    )
  }
  let turns = 0
  let isOpen = false
  const turn = () => {
    turns++
    if (!isOpen) setImmediate(turn)
  }
  const bytes = writer.toBuffer()
  setImmediate(turn)
  const startedMs = performance.now()
  await openMmdb(bytes)
  const tookMs = performance.now() - startedMs
  isOpen = true
  assert.ok(turns >= 3, `${turns} turns in ${tookMs} ms`)
})

test('overlapping values and a record that is too large are refused', async () => {
  const large = mmdb('Example', { '81.2.69.0/24': { list: Array.from({ length: 30_000 }, (_, i) => i) } })
  await assert.rejects(openMmdb(large), refused(/is too large for a record/))
  // Each string contains the start of an array of all others: a reader that starts inside one walks through the rest.
  const strings = 6_000
  const text = (i: number) => {
    const rest = strings - i - 1 - 285
    return Buffer.from([0x44, 0x1e, 0x04, rest >> 8, rest & 255])
  }
  const array = Buffer.from([0x1e, 0x04, (strings - 285) >> 8, (strings - 285) & 255])
  const content = Buffer.concat([array, ...Array.from({ length: strings }, (_, i) => text(Math.min(i, strings - 286)))])
  const networks = Object.fromEntries(
    Array.from({ length: 4_096 }, (_, i) => [`20.${i >> 8}.${i & 255}.0/24`, { n: i }]),
  )
  const whole = mmdb('Example', networks, { recordSize: 32, ipVersion: 4 })
  const nodes = 4_096 - 1 + 12
  const marker = whole.lastIndexOf(Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1'))
  const bytes = Buffer.concat([whole.subarray(0, nodes * 8 + 16), content, whole.subarray(marker)])
  let k = 0
  for (let at = 0; at < nodes * 8; at += 4) {
    if (bytes.readUInt32BE(at) > nodes) bytes.writeUInt32BE(nodes + 16 + 5 + 5 * k++, at)
  }
  await assert.rejects(openMmdb(bytes), refused(/overlaps another one/))
})
