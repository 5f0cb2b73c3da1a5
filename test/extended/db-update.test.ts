import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { EnrichmentKeeper } from '../../src/cli/start/enrichment-keeper.ts'
import { readConfig } from '../../src/config/config.ts'
import { askForUpdate, readAskedUpdate } from '../../src/enrichment/files/update/asked-update.ts'
import { parseSources } from '../../src/enrichment/files/update/sources.ts'
import type { UpdateReport } from '../../src/enrichment/files/update/update.ts'
import { runCommand } from '../support/command.ts'
import { address, asnMmdb, silent, startEngine, temporaryFolder } from '../support/enrichment-data.ts'
import { until } from '../support/until.ts'
import { ASN, setUp } from '../support/updates.ts'

const TABLE = 'network,business_name\n81.2.69.0/24,Example\n'
const HOUR_MS = 3_600_000
const IPID = fileURLToPath(new URL('../../src/ipid.mjs', import.meta.url))

test('db update fetches the sources of sources.json, and reports changes', async (t) => {
  const { dir, server } = await setUp(t)
  server.serve('/asn.mmdb', ASN)
  server.serve('/companies.csv', TABLE)
  const sources = [{ url: `${server.url}/asn.mmdb` }, { url: `${server.url}/companies.csv`, file: 'firms.csv' }]
  await writeFile(join(dir, 'sources.json'), JSON.stringify(sources))
  const run = async () => {
    const { code, stdout, stderr } = await runCommand(['db', 'update', '--json'], { env: { ENRICH_DIR: dir } })
    assert.equal(stderr, '')
    return { code, reports: JSON.parse(stdout) }
  }
  const first = await run()
  assert.equal(first.code, 0)
  assert.deepEqual(first.reports[0], {
    file: 'asn.mmdb',
    url: `${server.url}/asn.mmdb`,
    status: 'added',
    reason: null,
    recognised_as: 'MaxMind ASN',
    records: 1,
    records_before: null,
    built_at: '2025-10-09T08:53:20.000Z',
    built_at_before: null,
  })
  const statuses = ({ reports }: { reports: UpdateReport[] }) => reports.map(({ status }) => status)
  assert.deepEqual(statuses(first), ['added', 'added'])
  const engine = await startEngine(t, dir)
  assert.deepEqual(engine.providerNames(), ['firms', 'asn'])

  assert.deepEqual(statuses(await run()), ['unchanged', 'unchanged'])
  assert.equal(server.requests.at(-1)?.headers['if-none-match'], '"1"')
  server.serve('/companies.csv', `${TABLE}81.2.70.0/24,New\n`, '"2"')
  const text = await runCommand(['db', 'update', '--enrich-dir', dir])
  assert.equal(
    text.stdout,
    'asn.mmdb: unchanged\nfirms.csv: updated: organisation table, 2 records; before: 1 record\n',
  )
  await until(() => engine.lookup(address('81.2.70.1')).data.business_name === 'New')
})

test('one source that fails does not stop the others; exit code 1', async (t) => {
  const { dir, server, files } = await setUp(t)
  server.serve('/good.csv', TABLE)
  await writeFile(
    join(dir, 'sources.json'),
    JSON.stringify({ 'missing.csv': `${server.url}/missing.csv`, 'good.csv': { url: `${server.url}/good.csv` } }),
  )
  const { code, stdout } = await runCommand(['db', 'update', '--enrich-dir', dir])
  assert.equal(code, 1)
  assert.match(stdout, /^missing\.csv: failed: the server answered 404 Not Found\ngood\.csv: added: .*\n$/)
  assert.deepEqual(await files(), ['good.csv', 'sources.json'])
})

test('broken, cut, too large or unrecognised files never replace a good one', async (t) => {
  const { dir, server, only, files } = await setUp(t)
  await writeFile(join(dir, 'asn.mmdb'), ASN)
  const source = { url: `${server.url}/asn.mmdb` }
  const broken: [content: Buffer | string, reason: RegExp][] = [
    ['', /the file is empty/],
    ['network,asn\n', /no metadata: it is truncated, or not in MaxMind DB format/],
    [ASN.subarray(0, 300), /no metadata: it is truncated/],
    [gzipSync(ASN).subarray(0, 200), /cannot be unpacked/],
    [Buffer.alloc(2_000), /larger than 1500 bytes/],
    [gzipSync(Buffer.alloc(100_000)), /larger than 1500 bytes/],
  ]
  const limits = { bytesMax: 1_500, timeoutMs: 60_000, redirectsMax: 1 }
  for (const [content, reason] of broken) {
    server.serve('/asn.mmdb', content)
    const report = await only(source, { limits })
    assert.equal(report.status, 'failed')
    assert.match(report.reason ?? '', reason)
    assert.deepEqual(await readFile(join(dir, 'asn.mmdb')), ASN)
  }
  server.handle('/asn.mmdb', (_request, response) => {
    response.writeHead(200, { 'content-length': ASN.length })
    response.write(ASN.subarray(0, 300), () => response.destroy())
  })
  assert.match((await only(source)).reason ?? '', /cannot be fetched/)
  server.handle('/asn.mmdb', (_request, response) => {
    // Without a length, only the count of received bytes can end it.
    response.write(Buffer.alloc(1_000), () => response.end(Buffer.alloc(1_000)))
  })
  assert.match((await only(source, { limits })).reason ?? '', /larger than 1500 bytes/)
  server.handle('/asn.mmdb', (_request, response) => {
    // The connection's end ends the answer, whether it is complete or cut.
    response.useChunkedEncodingByDefault = false
    response.end(ASN)
  })
  assert.match((await only(source)).reason ?? '', /does not state the length of its response/)
  assert.deepEqual(await files(), ['asn.mmdb'])
  server.serve('/asn.mmdb', ASN)
  assert.equal((await only(source)).status, 'unchanged')
})

test('a compressed answer is decoded, and a cut one replaces nothing', async (t) => {
  const { dir, server, only } = await setUp(t)
  const table = `network,business_name\n${Array.from({ length: 2_000 }, (_, i) => `81.${i >> 8}.${i & 255}.0/24,Firm ${i}\n`).join('')}`
  const source = { url: `${server.url}/firms.csv` }
  const encodings = {
    gzip: gzipSync(table),
    'x-gzip': gzipSync(table),
    deflate: deflateSync(table),
    br: brotliCompressSync(table),
  }
  for (const [coding, bytes] of Object.entries(encodings)) {
    const serve = (body: Buffer) =>
      server.handle('/firms.csv', (_request, response) => {
        // The length of the cut body, as a cache that stored it would send.
        response.writeHead(200, { 'content-encoding': coding, 'content-length': body.length }).end(body)
      })
    serve(bytes)
    assert.notEqual((await only(source)).status, 'failed', coding)
    for (const length of [bytes.length / 2, bytes.length - 1]) {
      serve(bytes.subarray(0, length))
      assert.match((await only(source)).reason ?? '', /cannot be fetched: unexpected end of file/, coding)
    }
    assert.equal(await readFile(join(dir, 'firms.csv'), 'utf8'), table)
  }
  assert.equal(server.requests[0]!.headers['accept-encoding'], 'identity')
})

test('a server that does not answer in time is given up', async (t) => {
  const { server, only } = await setUp(t)
  server.handle('/asn.mmdb', () => {})
  const limits = { bytesMax: 1_500, timeoutMs: 50, redirectsMax: 1 }
  assert.match((await only({ url: `${server.url}/asn.mmdb` }, { limits })).reason ?? '', /longer than 50 ms/)
  assert.match((await only({ url: 'http://127.0.0.1:1/asn.mmdb' })).reason ?? '', /cannot be fetched/)
})

test('packed MMDBs are read too: gzip, and tar with a licence beside it', async (t) => {
  const { dir, server, only } = await setUp(t)
  const archive = async (...entries: [name: string, content: Buffer | string][]) => {
    const tar = pack()
    for (const [name, content] of entries) tar.entry({ name }, content)
    tar.finalize()
    const parts: Buffer[] = []
    for await (const part of tar) parts.push(part as Buffer)
    return gzipSync(Buffer.concat(parts))
  }
  const source = { url: `${server.url}/download`, file: 'asn.mmdb' }
  for (const packed of [
    gzipSync(ASN),
    await archive(['Asn_20260101/LICENSE.txt', 'You may.'], ['Asn_20260101/Asn.mmdb', ASN]),
  ]) {
    server.serve('/download', packed)
    assert.equal((await only(source)).status, 'added')
    assert.deepEqual(await readFile(join(dir, 'asn.mmdb')), ASN)
    await rm(join(dir, 'asn.mmdb'))
  }
  server.serve('/download', await archive(['LICENSE.txt', 'You may.']))
  assert.match((await only(source)).reason ?? '', /the archive holds no \.mmdb file/)
})

test('a web page instead of data is reported as a web page', async (t) => {
  const { server, only } = await setUp(t)
  server.serve('/asn.mmdb', '<!DOCTYPE html>\n<title>Sign in</title>')
  server.serve('/list.txt', '\n <html lang="en"><head>')
  for (const url of [`${server.url}/asn.mmdb`, `${server.url}/list.txt`]) {
    assert.equal((await only({ url })).reason, 'the server sent a web page instead of data')
  }
})

test('--due fetches only sources that are due or missing', async (t) => {
  const { dir, server, update } = await setUp(t)
  server.serve('/table.csv', TABLE)
  const sources = ['hourly', '3h', undefined].map((schedule, i) => ({
    url: `${server.url}/table.csv`,
    file: `t${i}.csv`,
    schedule,
  }))
  const statuses = async (nowMs: number) =>
    (await update(sources, { nowMs, dueOnly: true })).map(({ status }) => status)
  assert.deepEqual(await statuses(0), ['added', 'added', 'added'])
  assert.deepEqual(await statuses(HOUR_MS - 1), ['not_due', 'not_due', 'not_due'])
  assert.deepEqual(await statuses(HOUR_MS), ['unchanged', 'not_due', 'not_due'])
  assert.deepEqual(await statuses(3 * HOUR_MS), ['unchanged', 'unchanged', 'not_due'])
  await rm(join(dir, 't2.csv'))
  assert.deepEqual(await statuses(3 * HOUR_MS), ['not_due', 'not_due', 'added'])
})

test('the same content with a new tag changes nothing; a missing file is always fetched', async (t) => {
  const { dir, server, only } = await setUp(t)
  server.serve('/table.csv', TABLE)
  const source = { url: `${server.url}/table.csv` }
  await only(source)
  const before = await stat(join(dir, 'table.csv'))
  server.serve('/table.csv', TABLE, '"2"')
  assert.equal((await only(source)).status, 'unchanged')
  assert.equal((await stat(join(dir, 'table.csv'))).ino, before.ino)
  await rm(join(dir, 'table.csv'))
  assert.equal((await only(source)).status, 'added')
  await writeFile(join(dir, '.sources-state.json'), '{"table.csv":')
  assert.equal((await only(source)).status, 'unchanged')
})

test('an old folder of a killed update is removed', async (t) => {
  const { dir, only, server, files } = await setUp(t)
  server.serve('/table.csv', TABLE)
  for (const name of ['.update-old', '.update-new']) {
    await mkdir(join(dir, name))
    await writeFile(join(dir, name, 'table.csv'), 'half')
  }
  const now = Date.now()
  await utimes(join(dir, '.update-old'), now / 1_000 - 100_000, now / 1_000 - 100_000)
  await only({ url: `${server.url}/table.csv` }, { nowMs: now })
  assert.deepEqual(await files(), ['.update-new', 'table.csv'])
})

test('sources.json is checked before anything is fetched', () => {
  const wrong: [json: string, message: RegExp][] = [
    ['[', /^not JSON: /],
    ['"text"', /^must be a list or an object$/],
    ['[1]', /^source 1 must be an object$/],
    ['[{"url":"ftp://host/a.mmdb"}]', /^source 1: url must be an http or https URL$/],
    ['[{"url":"http://user:pw@host/a.mmdb"}]', /^source 1: url must not hold a password/],
    [
      '[{"url":"http://host/a.mmdb","colour":"red"}]',
      /^source 1: unknown member "colour": must be url, file, key_env, /,
    ],
    [
      '[{"url":"http://host/a.mmdb","file":"../a.mmdb"}]',
      /^source 1: file "\.\.\/a\.mmdb" must be the name of a data file$/,
    ],
    ['[{"url":"http://host/a.mmdb","file":"sources.json"}]', /must be the name of a data file$/],
    ['[{"url":"http://host/download"}]', /^source 1: file "download" must be the name of a data file$/],
    ['[{"url":"http://host/a.mmdb","schedule":"sometimes"}]', /^source 1: schedule "sometimes" must be hourly/],
    ['[{"url":"http://host/{key}/a.mmdb"}]', /^source 1: \{key\} in url needs key_env$/],
    ['[{"url":"http://host/a.mmdb"},{"url":"http://host/a.csv"}]', /^a\.mmdb and a\.csv would be the same provider$/],
  ]
  for (const [json, message] of wrong) assert.throws(() => parseSources(json), { name: 'InputError', message }, json)
})

test('db update needs a folder and a sources.json', async (t) => {
  const dir = await temporaryFolder(t)
  const fresh = { env: { DATA_DIR: await temporaryFolder(t) } }
  assert.match((await runCommand(['db', 'update'], fresh)).stderr, /^ipid: .*"\.\/ipid db add iptoasn" creates it/)
  const { code, stderr } = await runCommand(['db', 'update', '--enrich-dir', dir])
  assert.equal(code, 2)
  assert.match(stderr, /^ipid: .*sources\.json does not exist: .*\n$/)
})

test('ranges of autonomous systems become an MMDB, and a URL may name the month', async (t) => {
  const { dir, server, only } = await setUp(t)
  const lines = ['1.0.0.0\t1.0.0.255\t0\tNone\tNot routed', '81.2.69.0\t81.2.69.255\t64500\tGB\tEXAMPLE Example Ltd']
  server.serve('/2026-11/ip2asn.tsv.gz', gzipSync(`${lines.join('\n')}\n`))
  const source = { url: `${server.url}/{month}/ip2asn.tsv.gz`, file: 'iptoasn.mmdb' }
  const report = await only(source, { nowMs: Date.UTC(2026, 10, 22) })
  assert.equal(report.reason, undefined)
  assert.deepEqual([report.status, report.now?.records], ['added', 1])
  const engine = await startEngine(t, dir)
  assert.equal(engine.enrich(address('81.2.69.1')).data.as_name, 'EXAMPLE Example Ltd')
  assert.equal(engine.enrich(address('1.0.0.1')).data.asn, undefined)
  server.serve('/2026-12/ip2asn.tsv.gz', gzipSync('1.0.0.0\tnonsense\t1\tNone\tx\n'), '"2"')
  const next = await only(source, { nowMs: Date.UTC(2026, 11, 1) })
  assert.equal(next.status, 'failed')
})

test('db add knows good sources by name, keeps sources.json, and states the terms of licences', async (t) => {
  const { dir } = await setUp(t)
  const run = (...args: string[]) => runCommand(['db', 'add', ...args], { env: { ENRICH_DIR: dir } })
  assert.match((await run()).stdout, /iptoasn[\s\S]*ipinfo-lite[\s\S]*dbip-lite[\s\S]*geolite2/)
  await writeFile(join(dir, 'sources.json'), '{"own.csv": "http://127.0.0.1/own.csv"}')
  const added = await run('geolite2', 'dbip-lite')
  assert.equal(added.code, 0, added.stderr)
  assert.match(added.stdout, /geolite2-asn\.mmdb: added to sources\.json[\s\S]*needs a key in MAXMIND_LICENSE_KEY/)
  assert.match(added.stdout, /DB-IP \(https:\/\/db-ip\.com\)/)
  const sources = parseSources(await readFile(join(dir, 'sources.json'), 'utf8'))
  assert.deepEqual(
    sources.map(({ file, keyEnv }) => [file, keyEnv]),
    [
      ['own.csv', undefined],
      ['geolite2-asn.mmdb', 'MAXMIND_LICENSE_KEY'],
      ['dbip-asn-lite.mmdb', undefined],
    ],
  )
  await writeFile(join(dir, 'sources.json'), '[]')
  const env = { ENRICH_DIR: dir, MAXMIND_ACCOUNT_ID: '12345' }
  await runCommand(['db', 'add', 'geolite2'], { env })
  const [source] = parseSources(await readFile(join(dir, 'sources.json'), 'utf8'))
  assert.equal(source?.keyUser, '12345')
  assert.match(source?.url ?? '', /\/geoip\/databases\/GeoLite2-ASN\/download\?suffix=tar\.gz$/)
  assert.match((await run('geolite2')).stdout, /already in sources\.json/)
  const unknown = await run('nonsense')
  assert.notEqual(unknown.code, 0)
  assert.match(unknown.stderr, /unknown source "nonsense": must be iptoasn/)
  await writeFile(join(dir, 'sources.json'), '[{"url"')
  assert.match((await run('iptoasn')).stderr, /sources\.json: not JSON/)
  assert.equal(await readFile(join(dir, 'sources.json'), 'utf8'), '[{"url"', 'an existing file is not overwritten')
})

test('db add adds the files of a registry that belong together, and db update reads them without compiling', async (t) => {
  const { dir, server } = await setUp(t)
  await writeFile(join(dir, 'sources.json'), '[]')
  const { stdout } = await runCommand(['db', 'add', 'ripe-inetnum', 'ripe-inet6num'], { env: { ENRICH_DIR: dir } })
  assert.match(stdout, /RIPE Database Terms and Conditions, article 4\.4: no use for advertising, direct marketing/)
  const sources = parseSources(await readFile(join(dir, 'sources.json'), 'utf8'))
  assert.deepEqual(
    sources.map(({ file }) => file),
    ['ripe.db.inetnum.gz', 'ripe.db.organisation.gz', 'ripe.db.inet6num.gz'],
  )

  const entries = sources.map(({ file }) => ({ file, url: `${server.url}/${file}` }))
  await writeFile(join(dir, 'sources.json'), JSON.stringify(entries))
  const blocks = (key: string) =>
    gzipSync(`${key}\nnetname: A\norg: ORG-A1-RIPE\nlast-modified: 2026-03-06T19:09:12Z\n`)
  server.serve('/ripe.db.inetnum.gz', blocks('inetnum: 81.2.69.0 - 81.2.69.7'))
  server.serve('/ripe.db.inet6num.gz', blocks('inet6num: 2001:db8::/48').subarray(0, -9))
  server.serve('/ripe.db.organisation.gz', gzipSync('organisation: ORG-A1-RIPE\norg-name: Anvil Works Ltd\n'))
  const updated = await runCommand(['db', 'update', '--json'], { env: { ENRICH_DIR: dir } })
  assert.match(updated.stdout, /RPSL blocks[\s\S]*RPSL organisations/)
  assert.match(updated.stdout, /unexpected end of file/)
  assert.ok(!(await readdir(dir)).includes('ripe.db.inet6num.gz'))
  const list = await runCommand(['db', 'list', '--json'], { env: { ENRICH_DIR: dir } })
  assert.match(list.stdout, /"ripe\.db\.inetnum"[\s\S]*"registry"/)
  const { stdout: answer } = await runCommand(['enrich', '81.2.69.5'], { env: { ENRICH_DIR: dir } })
  assert.match(answer, /Anvil Works/)
})

test('a requested update fetches every source, and its end lists each failure with its reason', async (t) => {
  const { dir, server } = await setUp(t)
  server.serve('/asn.mmdb', ASN)
  server.handle('/busy.csv', (_request, response) => response.writeHead(503).end())
  const config = readConfig({ ENRICH_DIR: dir, DATA_DIR: await temporaryFolder(t) })
  const env = { PATH: process.env.PATH, NODE_OPTIONS: process.env.NODE_OPTIONS }
  const keeper = new EnrichmentKeeper({ config, script: IPID, env, log: silent })
  t.after(() => keeper.stop())
  await keeper.start()
  const outcome = async () => (await readAskedUpdate(dir))?.outcome
  const sources = ['asn.mmdb', 'busy.csv'].map((file) => ({ file, url: `${server.url}/${file}` }))
  const ask = (at: string) => askForUpdate(dir, sources, at)
  await ask('2026-11-26T10:00:00.000Z')
  await until(async () => (await outcome()) !== undefined)
  const failures = [{ file: 'busy.csv', reason: 'the server answered 503 Service Unavailable' }]
  const { changed, failures: first } = (await outcome())!
  assert.deepEqual(first, failures)
  // A change of sources.json fetches due sources, which may happen earlier.
  assert.ok(changed.length === 0 || changed.join() === 'asn.mmdb')
  assert.deepEqual(await readFile(join(dir, 'asn.mmdb')), ASN)

  server.serve('/busy.csv', TABLE)
  await ask('2026-11-26T11:00:00.000Z')
  await until(async () => (await outcome())?.failures.length === 0)
  assert.deepEqual((await outcome())!.changed, ['busy.csv'])
  const listed = parseSources(await readFile(join(dir, 'sources.json'), 'utf8')).map(({ file }) => file)
  assert.deepEqual(listed, ['asn.mmdb', 'busy.csv'])
})

test('sources.json stays whole, each source once, whenever an addition is killed', async (t) => {
  const dir = await temporaryFolder(t)
  const asked = new URL('../../src/enrichment/files/update/asked-update.ts', import.meta.url).href
  const script = `
    import { askForUpdate } from '${asked}'
    const source = (i) => ({ file: 's' + i + '.csv', url: 'http://127.0.0.1:1/' + i })
    console.log('ready')
    for (let i = 0; i < 10_000; i++) await askForUpdate(process.argv[1], [source(i % 2), source(i)], new Date().toISOString())
  `
  let names: string[] = []
  for (let kill = 0; kill < 2; kill++) {
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script, dir])
    t.after(() => child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    const before = names.length
    const read = async () => {
      const text = await readFile(join(dir, 'sources.json'), 'utf8').catch(() => '[]')
      names = parseSources(text).map(({ name }) => name)
      return names.length > before + 5
    }
    await until(read)
    child.kill('SIGKILL')
    await once(child, 'close')
    await read()
    assert.equal(new Set(names).size, names.length)
  }
  assert.ok(await readAskedUpdate(dir))
})

test('on a fresh install db add and db update use DATA_DIR, and the starter data stay in use', async (t) => {
  const { server } = await setUp(t)
  const base = await temporaryFolder(t)
  const dataDir = join(base, 'data')
  const env = { DATA_DIR: dataDir, DEFAULT_DATA: 'off' }
  const added = await runCommand(['db', 'add', 'iptoasn'], { env })
  assert.equal(added.code, 0, added.stderr)
  const file = join(dataDir, 'enrich', 'sources.json')
  server.serve('/iptoasn.mmdb', asnMmdb({ '17.0.0.0/8': [714, 'APPLE-ENGINEERING'] }))
  const sources = JSON.parse(await readFile(file, 'utf8')) as { url: string; file: string }[]
  assert.deepEqual(
    sources.map((source) => source.file),
    ['iptoasn.mmdb'],
  )
  await writeFile(file, JSON.stringify(sources.map((source) => ({ ...source, url: `${server.url}/iptoasn.mmdb` }))))
  const updated = await runCommand(['db', 'update'], { env })
  assert.deepEqual([updated.code, updated.stderr], [0, ''])
  assert.match(updated.stdout, /^iptoasn\.mmdb: added: /)

  const { stdout } = await runCommand(['enrich', '17.253.144.10', '--json'], { env })
  const apple = JSON.parse(stdout) as { account_id: string; quality: number; data: { as_name?: string } }
  assert.deepEqual([apple.account_id, apple.quality, apple.data.as_name], ['apple.com', 85, 'APPLE-ENGINEERING'])
  assert.match((await runCommand(['db', 'list'], { env })).stdout, /^organisations .*\nbot-published .*\niptoasn /m)
})
