import assert from 'node:assert/strict'
import { mkdir, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Logger } from 'pino'
import { Favicons } from '../../src/dashboard/favicons/favicons.ts'
import { IconCache } from '../../src/dashboard/favicons/icon-cache.ts'
import { temporaryFolder } from '../support/enrichment-data.ts'
import { GIF, ICO, PNG } from '../support/icons.ts'
import { silent } from '../support/pipeline.ts'
import { movedTo, Sites } from '../support/sites.ts'
import { until } from '../support/until.ts'

/* Favicons of a world on loopback. */

const HOUR_MS = 3_600_000

interface World {
  readonly sites: Sites
  readonly favicons: Favicons
  readonly clock: { nowMs: number; now(): number }
  readonly dir: string
  /** The same folder in another process. */
  again(): Favicons
}

async function startWorld(t: TestContext): Promise<World> {
  const [sites, dir] = [await Sites.start(t), join(await temporaryFolder(t), 'favicons')]
  const clock = {
    nowMs: Date.parse('2026-03-15T12:00:00Z'),
    now() {
      return this.nowMs
    },
  }
  const make = () => {
    const { siteOf, destinations } = sites
    const cache = new IconCache({ dir, clock, log: silent })
    const favicons = new Favicons({ cache, destinations, siteOf, userAgent: 'ipid/1.2.3', log: silent })
    t.after(() => favicons.stop())
    return favicons
  }
  return { sites, clock, dir, favicons: make(), again: make }
}

test('the usual icon of a site is found by one request, which names the caller and nothing more', async (t) => {
  const { sites, favicons } = await startWorld(t)
  sites.answers.set('acme.example/favicon.ico', ICO)
  assert.deepEqual(await favicons.of('t', 'ACME.example'), { bytes: ICO, type: 'image/x-icon' })
  assert.deepEqual(sites.asked, ['acme.example/favicon.ico'])
  const { headers } = sites.requests[0]!
  assert.deepEqual(headers, {
    ...{ accept: 'image/*', 'accept-encoding': 'identity', 'user-agent': 'ipid/1.2.3', connection: 'close' },
    host: `acme.example:${sites.port}`,
  })
})

test('else the home page names it, relative to where it was found', async (t) => {
  const { sites, favicons } = await startWorld(t)
  sites.answers.set('acme.example/', movedTo('/de/'))
  sites.answers.set('acme.example/de/', `<head><link rel="icon" href="i.png"></head>${'x'.repeat(500_000)}`)
  sites.answers.set('acme.example/de/i.png', PNG)
  assert.equal((await favicons.of('t', 'acme.example'))?.type, 'image/png')
  assert.deepEqual(
    sites.asked,
    ['favicon.ico', '', 'de/', 'de/i.png'].map((path) => `acme.example/${path}`),
  )
})

test('only raster images pass, whatever the site calls them', async (t) => {
  const { sites, favicons } = await startWorld(t)
  const called = (type: string, body: string | Buffer) => {
    sites.answers.set('acme.example/favicon.ico', (_request, response) =>
      response.writeHead(200, { 'content-type': type, 'set-cookie': 'a=b' }).end(body),
    )
  }
  for (const [i, [type, body]] of [
    ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
    ['image/png', '<svg xmlns="http://www.w3.org/2000/svg"/>'],
    ['image/x-icon', '<!doctype html><title>Not found</title>'],
    ['image/png', ''],
  ].entries()) {
    called(type!, body!)
    sites.answers.set(`n${i}.example/favicon.ico`, sites.answers.get('acme.example/favicon.ico')!)
    assert.equal(await favicons.of('t', `n${i}.example`), undefined)
  }
  called('text/html', GIF)
  assert.deepEqual(await favicons.of('t', 'acme.example'), { bytes: GIF, type: 'image/gif' })
})

test('an icon that is too large is none, and is not read to its end', async (t) => {
  const { sites, favicons } = await startWorld(t)
  let isCut = false
  sites.answers.set('acme.example/favicon.ico', (_request, response) => {
    response.write(PNG)
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(10_000)));
    }
    response.on('drain', more).on('close', () => {
      isCut = true
    })
    more()
  })
  assert.equal(await favicons.of('t', 'acme.example'), undefined)
  await until(() => isCut)
  const most = Buffer.concat([PNG, Buffer.alloc(65_536 - PNG.length)])
  sites.answers.set('full.example/favicon.ico', most)
  sites.answers.set('over.example/favicon.ico', Buffer.concat([most, Buffer.alloc(1)]))
  assert.equal((await favicons.of('t', 'full.example'))?.bytes.length, 65_536)
  assert.equal(await favicons.of('t', 'over.example'), undefined)
})

test('a site that is silent, trickles or breaks off is left after six seconds, for an hour', async (t) => {
  const { sites, favicons, clock } = await startWorld(t)
  const limits: number[] = []
  let late = new AbortController()
  const { timeout } = AbortSignal
  // Others of this process, such as the watch of ClickHouse, keep their own limits.
  t.mock.method(AbortSignal, 'timeout', (ms: number) => {
    if (ms !== 6_000) return timeout.call(AbortSignal, ms)
    limits.push(ms)
    return late.signal
  })
  sites.answers.set('silent.example/favicon.ico', () => {})
  sites.answers.set('trickle.example/favicon.ico', (_request, response) => response.write(PNG.subarray(0, 10)))
  sites.answers.set('cut.example/favicon.ico', (request, response) => {
    response.writeHead(200, { 'content-length': 1_000 })
    response.write(PNG, () => request.socket.destroy())
  })
  for (const name of ['silent', 'trickle', 'cut']) {
    const place = `${name}.example/favicon.ico`
    sites.asked.length = 0
    const search = favicons.of('t', `${name}.example`)
    await until(() => sites.asked.length === 1)
    if (name !== 'cut') late.abort()
    late = new AbortController()
    assert.deepEqual([await search, await favicons.of('t', `${name}.example`)], [undefined, undefined])
    assert.deepEqual(sites.asked, [place], 'once')
    clock.nowMs += HOUR_MS
    sites.answers.set(place, PNG)
    assert.equal((await favicons.of('t', `${name}.example`))?.type, 'image/png')
  }
  assert.deepEqual(limits, Array(6).fill(6_000))
})

for (const [name, addresses] of Object.entries({
  loopback: ['127.0.0.1'],
  'link-local': ['169.254.169.254'],
  'private, beside a public one': ['93.184.215.14', '10.0.0.5'],
  'IPv6 of the own network': ['fd00::5'],
})) {
  test(`a domain that leads to an address that is ${name} is not asked`, async (t) => {
    const { sites, favicons } = await startWorld(t)
    sites.answers.set('inner.example/favicon.ico', PNG)
    sites.addresses.set('inner.example', addresses)
    assert.equal(await favicons.of('t', 'inner.example'), undefined)
    assert.deepEqual(sites.asked, [])
  })
}

test('sites that lead to inner addresses leave one line a minute, for operators, with the number of the others', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const lines: [object, string][] = []
  const log = { ...silent, info: (facts: object, text: string) => void lines.push([facts, text]) } as unknown as Logger
  const { sites, clock, dir } = await startWorld(t)
  const { siteOf, destinations } = sites
  const cache = new IconCache({ dir, clock, log: silent })
  const favicons = new Favicons({ cache, destinations, siteOf, userAgent: 'ipid/1.2.3', log })
  const text = 'the icon of a company is not at a public address'
  for (const name of ['first.example', 'second.example', 'third.example']) {
    sites.addresses.set(name, ['10.0.0.5'])
    assert.equal(await favicons.of('t', name), undefined)
  }
  const [first] = lines
  assert.deepEqual([lines.length, first?.[1]], [1, text])
  assert.deepEqual(Object.keys(first![0]), ['host', 'address'])
  t.mock.timers.tick(60_000)
  assert.equal(lines.length, 2)
  // A search asks for the icon, then for the page.
  assert.deepEqual(lines[1], [{ repeated: 5 }, text])
})

for (const [name, location] of Object.entries({
  'a private address': 'http://192.168.0.1:PORT/favicon.ico',
  'this machine': 'http://127.0.0.1:PORT/favicon.ico',
  'a name that leads to one': 'http://inner.example:PORT/favicon.ico',
  'another port': 'http://acme.example:1/favicon.ico',
  'another protocol': 'ftp://acme.example:PORT/favicon.ico',
  'a password': 'http://a:b@acme.example:PORT/icon.png',
  'no URL': 'http://[',
})) {
  test(`a redirect to ${name} is not followed`, async (t) => {
    const { sites, favicons } = await startWorld(t)
    sites.addresses.set('inner.example', ['10.0.0.5'])
    const to = location.replace('PORT', String(sites.port))
    sites.answers.set('acme.example/favicon.ico', movedTo(to))
    sites.answers.set('acme.example/', `<link rel=icon href="${to}">`)
    sites.answers.set('acme.example/icon.png', PNG)
    assert.equal(await favicons.of('t', 'acme.example'), undefined)
    assert.deepEqual(sites.asked, ['acme.example/favicon.ico', 'acme.example/'])
  })
}

test('a redirect to another public site is followed, but not in a circle', async (t) => {
  const { sites, favicons } = await startWorld(t)
  sites.answers.set('acme.example/favicon.ico', movedTo(`http://cdn.example:${sites.port}/i.png`))
  sites.answers.set('cdn.example/i.png', PNG)
  assert.equal((await favicons.of('t', 'acme.example'))?.type, 'image/png')
  sites.asked.length = 0
  sites.answers.set('circle.example/favicon.ico', movedTo('/favicon.ico'))
  assert.equal(await favicons.of('t', 'circle.example'), undefined)
  assert.deepEqual(sites.asked, [...Array(4).fill('circle.example/favicon.ico'), 'circle.example/'])
})

test('a connection goes to the address that was checked, whatever the name leads to later', async (t) => {
  const { sites, favicons } = await startWorld(t)
  sites.answers.set('rebound.example/favicon.ico', (_request, response) => {
    // The next answer of its name server, which a second look-up for the same connection would have got.
    sites.addresses.set('rebound.example', ['127.0.0.1'])
    response.writeHead(302, { location: '/again' }).end()
  })
  sites.answers.set('rebound.example/again', PNG)
  assert.equal(await favicons.of('t', 'rebound.example'), undefined)
  assert.deepEqual(sites.asked, ['rebound.example/favicon.ico'])
  assert.deepEqual(sites.resolved, Array(3).fill('rebound.example'), 'one look-up for each connection')
})

test('text that is no domain is not asked', async (t) => {
  const { sites, favicons } = await startWorld(t)
  const texts = [
    '',
    'localhost',
    '127.0.0.1',
    '[::1]',
    'acme.example:8080',
    'acme.example/x',
    'a@acme.example',
    '-a.example',
  ]
  for (const text of [...texts, 'acme.example.', 'a..example', 'acme example', '1.2', `${'a.'.repeat(150)}example`]) {
    assert.equal(await favicons.of('t', text), undefined, text)
  }
  assert.deepEqual([sites.resolved, sites.asked], [[], []])
})

test('many equal questions are one search, and other sites are asked a few at a time', async (t) => {
  const { sites, favicons } = await startWorld(t)
  const open: (() => void)[] = []
  for (let i = 0; i < 12; i++) {
    sites.answers.set(`n${i}.example/favicon.ico`, (_request, response) => void open.push(() => response.end(PNG)))
  }
  const all = Array.from({ length: 12 }, (_, i) => [1, 2, 3].map(() => favicons.of('t', `n${i}.example`))).flat()
  await until(() => open.length === 4)
  // Another tenant does not wait for this one.
  const other = favicons.of('other', 'n11.example')
  const theirs = favicons.of('other', 'own.example')
  assert.equal(await theirs, undefined)
  await until(() => open.length === 5)
  let ended = 0
  await until(() => {
    while (open.length > 0) {
      open.shift()!()
      ended++
    }
    return ended === 12
  })
  for (const icon of await Promise.all([...all, other])) assert.equal(icon?.type, 'image/png')
  assert.equal(
    sites.asked.filter((place) => place !== 'own.example/' && place !== 'own.example/favicon.ico').length,
    12,
  )
})

test('a tenant does not wait for the line of another one that asked for the same domain before', async (t) => {
  const { sites, favicons } = await startWorld(t)
  const open: (() => void)[] = []
  for (let i = 0; i < 4; i++) {
    sites.answers.set(`n${i}.example/favicon.ico`, (_request, response) => void open.push(() => response.end(PNG)))
  }
  sites.answers.set('both.example/favicon.ico', PNG)
  const slow = Array.from({ length: 4 }, (_, i) => favicons.of('t', `n${i}.example`))
  await until(() => open.length === 4)
  let isAnySlowEnded = false
  for (const search of slow) void search.finally(() => (isAnySlowEnded = true))
  const waiting = favicons.of('t', 'both.example')
  const theirs = await favicons.of('other', 'both.example')
  assert.equal(isAnySlowEnded, false)
  for (const end of open) end()
  for (const icon of await Promise.all([...slow, waiting, theirs])) assert.equal(icon?.type, 'image/png')
  assert.equal(sites.asked.filter((place) => place === 'both.example/favicon.ico').length, 1)
})

test('a stop ends searches, and keeps nothing of them', async (t) => {
  const { sites, favicons, again } = await startWorld(t)
  sites.answers.set('acme.example/favicon.ico', () => {})
  const search = favicons.of('t', 'acme.example')
  await until(() => sites.asked.length === 1)
  favicons.stop()
  await assert.rejects(search, /the dashboard stops/)
  sites.answers.set('acme.example/favicon.ico', PNG)
  assert.equal((await again().of('t', 'acme.example'))?.type, 'image/png')
})

test('icons are kept for a week and their absence for a day, for all processes of the machine', async (t) => {
  const { sites, favicons, clock, again, dir } = await startWorld(t)
  sites.answers.set('acme.example/favicon.ico', PNG)
  const ask = async (of: Favicons) => [await of.of('t', 'acme.example'), await of.of('t', 'none.example')]
  const first = await ask(favicons)
  assert.deepEqual(
    first.map((icon) => icon?.type),
    ['image/png', undefined],
  )
  const asked = ['acme.example/favicon.ico', 'none.example/favicon.ico', 'none.example/']
  clock.nowMs += 24 * HOUR_MS - 1
  for (const one of [favicons, again()]) assert.deepEqual(await ask(one), first)
  assert.deepEqual(sites.asked, asked)
  clock.nowMs += 1
  await ask(favicons)
  assert.deepEqual(sites.asked, [...asked, ...asked.slice(1)])
  clock.nowMs += 6 * 24 * HOUR_MS
  await ask(favicons)
  assert.deepEqual(sites.asked, [...asked, ...asked.slice(1), ...asked])
  for (const name of await readdir(dir)) {
    assert.ok(/^[0-9a-f]{64}$/.test(name), 'the name does not tell the domain')
    assert.equal((await stat(join(dir, name))).mode & 0o077, 0)
  }
})

test('files of the folder are checked anew, and a read-only folder only disables the cache', async (t) => {
  const { favicons, dir, again, sites } = await startWorld(t)
  sites.answers.set('acme.example/favicon.ico', PNG)
  await favicons.of('t', 'acme.example')
  const [name] = await readdir(dir)
  await writeFile(join(dir, name!), '<svg/>')
  const later = new Date('2026-12-01')
  await utimes(join(dir, name!), later, later)
  assert.equal(await again().of('t', 'acme.example'), undefined)
  await rm(dir, { recursive: true })
  await writeFile(dir, 'a file in its place')
  assert.equal((await again().of('t', 'acme.example'))?.type, 'image/png')
})

test('a cache that cannot write says so once, not for each company', async (t) => {
  const dir = join(await temporaryFolder(t), 'favicons')
  await writeFile(dir, 'a file in its place')
  const warnings: string[] = []
  const log = { warn: (_: object, text: string) => void warnings.push(text) } as unknown as Logger
  const cache = new IconCache({ dir, clock: { now: () => Date.now() }, log })
  for (const name of ['a.example', 'b.example', 'c.example']) await cache.put(name, PNG, HOUR_MS)
  assert.equal(warnings.length, 1)
})

test('the folder does not grow without bound', async (t) => {
  const dir = join(await temporaryFolder(t), 'favicons')
  await mkdir(dir)
  const clock = { nowMs: 1_000_000_000_000, now: () => clock.nowMs }
  // Left by a killed process.
  await writeFile(join(dir, 'x.part'), PNG)
  const cache = new IconCache({ dir, clock, log: silent, filesMax: 5, trimEvery: 1 })
  clock.nowMs = Date.now() + 60_000
  await cache.put('short.example', PNG, 1_000)
  for (let i = 0; i < 20; i++) await cache.put(`n${i}.example`, PNG, 100_000 + i)
  assert.equal((await readdir(dir)).length, 5)
  assert.deepEqual([(await cache.get('n19.example'))?.length, await cache.get('n14.example')], [PNG.length, undefined])
  clock.nowMs += 200_000
  await cache.put('last.example', Buffer.alloc(0), 1_000)
  assert.deepEqual([(await readdir(dir)).length, (await cache.get('last.example'))?.length], [1, 0])
})

test('files that another process writes are not removed, and a failed write leaves nothing', async (t) => {
  const dir = join(await temporaryFolder(t), 'favicons')
  const clock = { now: () => Date.now() }
  const cache = new IconCache({ dir, clock, log: silent, trimEvery: 1 })
  await mkdir(dir)
  await writeFile(join(dir, 'x.part'), PNG)
  await cache.put('acme.example', PNG, HOUR_MS)
  assert.ok((await readdir(dir)).includes('x.part'))
  const hourAgo = new Date(Date.now() - HOUR_MS)
  await utimes(join(dir, 'x.part'), hourAgo, hourAgo)
  const [name] = (await readdir(dir)).filter((file) => file !== 'x.part')
  await rm(join(dir, name!))
  await mkdir(join(dir, name!, 'a folder in its place'), { recursive: true })
  await cache.put('acme.example', PNG, HOUR_MS)
  assert.deepEqual((await readdir(dir)).sort(), [name, 'x.part'].sort())
  await cache.put('other.example', PNG, HOUR_MS)
  assert.ok(!(await readdir(dir)).includes('x.part'))
})
