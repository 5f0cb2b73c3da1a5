import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type CommandOptions, runCommand } from '../support/command.ts'
import { DnsServer } from '../support/dns-server.ts'
import { asnMmdb, temporaryFolder } from '../support/enrichment-data.ts'

async function setUp(t: TestContext) {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'asn.mmdb'), asnMmdb({ '81.2.0.0/16': [64_500, 'EXAMPLE-AS'] }))
  await writeFile(
    join(dir, 'organisations.csv'),
    'network,business_name,domain,classification\n81.2.69.0/24,Example,example.com,business\n81.2.70.0/24,,,hosting\n',
  )
  return (args: readonly string[], options: CommandOptions = {}) =>
    runCommand(['enrich', ...args], { env: { ENRICH_DIR: dir }, ...options })
}

function lines(stdout: string): Record<string, unknown>[] {
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

test('one line of JSON per address, with the same status as ingest', async (t) => {
  const enrich = await setUp(t)
  const ips = ['81.2.69.1', '::ffff:81.2.70.1', '10.0.0.1', '8.8.8.8', 'nonsense', '81.2.69.1']
  const { code, stdout, stderr } = await enrich([...ips, '--json'])
  assert.deepEqual([code, stderr], [0, ''])
  const found = lines(stdout)
  assert.deepEqual(found[0], {
    ip: '81.2.69.1',
    status: 'ok',
    classification: 'business',
    quality: 70,
    data: {
      business_name: 'Example',
      org_name: 'EXAMPLE-AS',
      etld_plus_one: 'example.com',
      domain: 'example.com',
      classification: 'business',
      asn: 64_500,
      as_name: 'EXAMPLE-AS',
      network: '81.2.69.0/24',
    },
    account_id: 'example.com',
  })
  assert.deepEqual(
    found.map(({ account_id }) => account_id),
    ['example.com', undefined, undefined, undefined, undefined, 'example.com'],
  )
  assert.deepEqual(
    found.map(({ ip, status, classification }) => [ip, status, classification]),
    [
      ['81.2.69.1', 'ok', 'business'],
      ['::ffff:81.2.70.1', 'filtered', 'hosting'],
      ['10.0.0.1', 'filtered', 'reserved'],
      ['8.8.8.8', 'ok', null],
      ['nonsense', 'invalid_ip', null],
      ['81.2.69.1', 'ok', 'business'],
    ],
  )
  assert.deepEqual(found[4], { ip: 'nonsense', status: 'invalid_ip', classification: null, quality: 0, data: {} })
})

test('--explain names the source of each value, the rule, and the providers asked', async (t) => {
  const enrich = await setUp(t)
  const [found, reserved, invalid] = lines((await enrich(['81.2.69.1', '10.0.0.1', 'x', '--explain', '--json'])).stdout)
  const own = { provider: 'organisations', network: '81.2.69.0/24' }
  const carrier = { provider: 'asn', network: '81.2.0.0/16' }
  assert.deepEqual(found!.explain, {
    attributes: {
      business_name: own,
      org_name: carrier,
      etld_plus_one: own,
      domain: own,
      classification: own,
      asn: carrier,
      as_name: carrier,
      network: own,
    },
    rule: 'table:organisations',
    asked: ['organisations', 'asn'],
    answered: ['organisations', 'asn'],
    partial: [],
  })
  assert.deepEqual(reserved!.explain, {
    attributes: {
      classification: { provider: 'iana', network: '10.0.0.0/8' },
      network: { provider: 'iana', network: '10.0.0.0/8' },
    },
    rule: 'reserved:private use',
    asked: [],
    answered: [],
    partial: [],
  })
  assert.deepEqual(invalid!.explain, { attributes: {}, rule: 'invalid_ip', asked: [], answered: [], partial: [] })
})

test('on a terminal the output is an aligned list', async (t) => {
  const enrich = await setUp(t)
  const { stdout } = await enrich(['81.2.70.1', 'x', '--explain'])
  assert.equal(
    stdout,
    [
      'ip               81.2.70.1',
      'status           filtered',
      'quality          35',
      'org_name         EXAMPLE-AS     asn 81.2.0.0/16',
      'classification   hosting        organisations (table:organisations)',
      'asn              64500          asn 81.2.0.0/16',
      'as_name          EXAMPLE-AS     asn 81.2.0.0/16',
      'network          81.2.70.0/24   organisations 81.2.70.0/24',
      'rule             table:organisations',
      'asked            organisations, asn',
      'answered         organisations, asn',
      '',
      'ip       x',
      'status   invalid_ip',
      '',
      '',
    ].join('\n'),
  )
})

test('- reads standard input as it arrives, however it is cut', async (t) => {
  const enrich = await setUp(t)
  let answered = () => {}
  const firstAnswer = new Promise<void>((resolve) => {
    answered = resolve
  })
  async function* stdin() {
    yield '81.2.69.1\n\n  81.2.'
    // The first line is answered before the second has arrived.
    await firstAnswer
    yield '70.1 \r\n'
    yield `${'9'.repeat(5_000)}`
    yield `${'9'.repeat(5_000)}\n8.8.8.8`
  }
  const { code, stdout } = await enrich(['-', '--json'], { stdin: stdin(), onOutput: () => answered() })
  assert.equal(code, 0)
  assert.deepEqual(
    lines(stdout).map(({ ip, status }) => [String(ip).length > 20 ? 'long' : ip, status]),
    [
      ['81.2.69.1', 'ok'],
      ['81.2.70.1', 'filtered'],
      ['long', 'invalid_ip'],
      ['8.8.8.8', 'ok'],
    ],
  )
})

test('--rdns asks for host names, and without it no name server is asked', async (t) => {
  const enrich = await setUp(t)
  const server = await DnsServer.start(t)
  server.host('81.2.69.1', 'mail.example.com')
  const args = ['81.2.69.1', '--json', '--explain', '--rdns-servers', server.address]
  assert.equal((lines((await enrich(args)).stdout)[0]!.data as { hostname?: string }).hostname, undefined)
  assert.deepEqual(server.queries, [])
  const found = lines((await enrich([...args, '--rdns'])).stdout)[0] as { data: object; explain: { asked: string[] } }
  assert.equal((found.data as { hostname?: string }).hostname, 'mail.example.com')
  assert.deepEqual(found.explain.asked, ['organisations', 'asn', 'rdns'])
})

test('an unreadable file is reported on standard error, and the others answer', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'broken.mmdb'), 'nonsense')
  await writeFile(join(dir, 'good.csv'), 'network,business_name\n81.2.69.0/24,Example\n')
  const { code, stdout, stderr } = await runCommand(['enrich', '81.2.69.1', '--json', '--enrich-dir', dir])
  assert.equal(code, 0)
  assert.match(stderr, /^ipid: .*broken\.mmdb is skipped: the file has no metadata.*\n$/)
  assert.equal((lines(stdout)[0]!.data as { business_name: string }).business_name, 'Example')
})

test('wrong usage is exit code 2 in one line', async (t) => {
  const enrich = await setUp(t)
  const wrong: [args: string[], stderr: RegExp][] = [
    [[], /^ipid: missing required argument 'ip'.*\n$/],
    [['--jsn', '81.2.69.1'], /^ipid: unknown option '--jsn'.*\n$/],
    [['81.2.69.1', '--rdns-servers', 'dns.example.com'], /^ipid: "dns\.example\.com" is not a name server: .*\n$/],
    [['81.2.69.1', '--enrich-dir', '/nowhere/at/all'], /^ipid: --enrich-dir ".*": must be a folder that exists\n$/],
  ]
  for (const [args, stderr] of wrong) {
    const result = await enrich(args)
    assert.deepEqual([result.code, result.stdout], [2, ''])
    assert.match(result.stderr, stderr)
  }
})
