import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ingest } from '../../../pipelines/ingest.ts'
import { BACKUP_LINE_BYTES_MAX, type BackupManifest } from '../../../schemas/backup.ts'
import { BACKUP_FORMAT, ENVELOPE_FORM } from '../../../schemas/forms.ts'
import { ROW_COLUMNS } from '../../../schemas/row.ts'
import { readPortions, writeLines } from '../../../src/operations/backup/files.ts'
import { writeManifest } from '../../../src/operations/backup/manifest.ts'
import { BackupRefusedError } from '../../../src/operations/backup/ports.ts'
import { Progress } from '../../../src/operations/backup/progress.ts'
import { openBackup } from '../../../src/operations/backup/restore.ts'
import { encodeBlock, packBlock } from '../../../src/pipeline/event/block.ts'
import { EnvelopeState, NO_IDENTITY } from '../../../src/pipeline/event/envelope.ts'

/*
 * A backup that another party wrote or changed: all its checksums are right.
 */

const HASH = 'a'.repeat(64)
const KEY = { prefix: 'ipid_0123456', tenant_id: 'acme', created_at: '2026-11-22T00:00:00.000Z' }
const TENANT = {
  id: 'acme',
  record: { plan: 'starter', archive: false, created_at: '2026-11-22T00:00:00.000Z' },
  keys: [{ sha256: HASH, record: KEY, used_ms: null }],
  lookups: { day: '2026-11-22', used: 0 },
}
const LETTER = { partition: 1, id: '5-1', fields: ['Z3JvdXA=', 'cHJvY2Vzcw=='], claim: null }
const OBJECT = { key: 'a', bytes: 1 }

interface Content {
  readonly tenants?: readonly unknown[]
  readonly letters?: readonly unknown[]
  readonly objects?: readonly unknown[]
  readonly manifest?: Partial<BackupManifest>
}

async function* ndjson(values: readonly unknown[]) {
  for (const value of values) yield Buffer.from(`${typeof value === 'string' ? value : JSON.stringify(value)}\n`)
}

async function* lines(texts: readonly string[]) {
  for (const text of texts) yield Buffer.from(`${text}\n`)
}

/** Writes a changed backup. */
async function write(
  t: TestContext,
  { tenants, letters, objects, manifest }: Content,
  dir = mkdtempSync(join(tmpdir(), 'ipid-foreign-')),
): Promise<string> {
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  const file = (name: string, values: readonly unknown[] = []) => writeLines(dir, name, ndjson(values))
  await writeManifest(dir, {
    format: BACKUP_FORMAT,
    ...{ id: 'x', ipid_version: '1', created_at: KEY.created_at, received_before: KEY.created_at },
    ...{ partitions: 4, migrations: ['0001_events'], tables: [] },
    tenants: await file('tenants.ndjson.gz', tenants),
    dead_letters: await file('dead-letters.ndjson.gz', letters),
    archive: { place: '/archive', file: await file('archive.ndjson.gz', objects) },
    ...manifest,
  })
  return dir
}

const progress = new Progress(() => {})

test('our own backup is opened', async (t) => {
  // As `source set … --preset none --verify none --map none` leaves it.
  const source = { kind: 'http', address: 'auto', preset: '', verify: '', map: {}, base: 'https://ipid.example:8443' }
  const sha256 = 'b'.repeat(64)
  const keys = [...TENANT.keys, { sha256, record: { ...KEY, prefix: 'src_0123456', source }, used_ms: null }]
  const dir = await write(t, {
    tenants: [{ ...TENANT, keys }],
    letters: [LETTER, { ...LETTER, id: '5-2' }],
    objects: [OBJECT],
  })
  assert.equal((await openBackup(dir, progress, ingest)).manifest.partitions, 4)
})

const base64 = (text: string) => Buffer.from(text).toString('base64')
const withKey = (change: object, record: object = {}) => ({
  tenants: [{ ...TENANT, keys: [{ ...TENANT.keys[0], ...change, record: { ...KEY, ...record } }] }],
})
const withRecord = (change: object) => ({ tenants: [{ ...TENANT, record: { ...TENANT.record, ...change } }] })
const SOURCE_KEY = { prefix: 'src_0123456' }
const withSource = (kind: string, settings: object) =>
  withKey({}, { ...SOURCE_KEY, source: { kind, address: 'auto', pull: { every_ms: 60_000, settings } } })
const withPage = (change: object) => withKey({}, { ...SOURCE_KEY, source: { kind: 'web', address: 'auto', ...change } })
const TIME = KEY.created_at
const ALERT = {
  ...{ name: 'Thief', on: 'company.first_seen', to: 'email', target: 'ada@example.com' },
  ...{ created_at: TIME, active_since: TIME },
}
const DIGEST = { ...ALERT, name: 'Digest', on: 'digest', every: 'week', at: '08:00', secret: 'v1:0123abcd:x' }
const FILES = {
  ...{ ...DIGEST, name: 'Files', on: 'export', every: undefined, at: undefined },
  export: { id: 'export_1', name: 'Weekly' },
}
const SEGMENT = { name: 'Software', where: 'industry=Software', created_at: TIME }
const withAlert = (change: object) => ({
  tenants: [{ ...TENANT, alerts: { alert_0123456789ab: { ...ALERT, ...change } } }],
})
const letterOfTenant = (tenant: string, end = '\n') => {
  const row = ROW_COLUMNS.map((name) => (name === 'tenant_id' ? tenant : '')).join('\t')
  const block = {
    ...packBlock([{ identity: NO_IDENTITY, state: EnvelopeState.Enriched, row }]),
    rows: Buffer.from(row + end),
  }
  const fields = ['stream', ingest.steps[0]!.from, ...encodeBlock(block)]
  return { ...LETTER, fields: fields.map((field) => Buffer.from(field as string).toString('base64')) }
}
const withLetter = (change: object) => ({ letters: [LETTER, { ...LETTER, id: '5-2', ...change }] })
const REFUSED: Readonly<Record<string, readonly [Content, RegExp]>> = {
  'a tenant name that leads out of its folder': [
    { tenants: [TENANT, { ...TENANT, id: '../../etc', keys: [] }] },
    /tenants\.ndjson\.gz, line 2: id: must match pattern/,
  ],
  'a tenant twice': [{ tenants: [TENANT, { ...TENANT, keys: [] }] }, /line 2: the tenant acme occurs twice/],
  'a record without a plan': [withRecord({ plan: undefined }), /line 1: record\.plan: is required/],
  'a rule that is too long': [withRecord({ rules: ['x'.repeat(1_001)] }), /record\.rules\[0\]: must have at most 1000/],
  'an invalid time': [withRecord({ created_at: 'yesterday' }), /record\.created_at: must be an RFC 3339/],
  'a key of another tenant': [withKey({}, { tenant_id: 'victim' }), /the key ipid_0123456 belongs to tenant victim/],
  'an invalid hash': [withKey({ sha256: 'A'.repeat(64) }), /keys\[0\]\.sha256: must match pattern/],
  'an invalid prefix': [withKey({}, { prefix: '\u001b[2J' }), /keys\[0\]\.record\.prefix: must match pattern/],
  'the hash of a key of two tenants': [
    {
      tenants: [TENANT, { ...TENANT, id: 'b', keys: [{ ...TENANT.keys[0], record: { ...KEY, tenant_id: 'b' } }] }],
    },
    /line 2: the hash of a key a+ occurs twice/,
  ],
  'a letter of a missing partition': [
    withLetter({ partition: 4 }),
    /line 2: partition 4 does not exist: the backup has 4/,
  ],
  'letters out of order': [withLetter({ id: '4-9' }), /line 2: its id must be greater than the one before/],
  'a letter whose field has no value': [withLetter({ fields: ['YQ==', 'YQ==', 'YQ=='] }), /a field has no value/],
  'a letter that is not base64': [withLetter({ fields: ['YQ==', '*'] }), /a field is not base64/],
  'a letter of a later version': [
    withLetter({ fields: [...LETTER.fields, base64('v'), base64(String(ENVELOPE_FORM + 1))] }),
    new RegExp(
      `line 2: its event has form ${ENVELOPE_FORM + 1}, but this ipid reads up to form ${ENVELOPE_FORM}: restore it with ipid 1$`,
    ),
  ],
  'an invalid claim id': [withLetter({ claim: 'YQ==' }), /line 2: claim: /],
  'an object without a size': [{ objects: [{ key: 'a' }] }, /archive\.ndjson\.gz, line 1: bytes: is required/],
  'a line that is not JSON': [{ objects: [OBJECT, '{'] }, /archive\.ndjson\.gz, line 2: /],
  'an empty line': [{ objects: [OBJECT, ''] }, /archive\.ndjson\.gz, line 2: /],
  'a rule that no parser takes': [
    withRecord({ rules: ['own 203.0.113.0/24', 'drop ('] }),
    /line 1: record\.rules\[1\]: /,
  ],
  'a time zone that does not exist': [
    withRecord({ time_zone: 'Mars/Olympus' }),
    /line 1: record\.time_zone: "Mars\/Olympus" is not the name of a time zone/,
  ],
  'a time zone that ClickHouse does not find': [withRecord({ time_zone: 'Us/Pacific' }), /record\.time_zone: /],
  'a rule for every network': [withRecord({ rules: ['is 0.0.0.0/0 evil.com'] }), /line 1: record\.rules\[0\]: is /],
  'two keys with a prefix': [
    { tenants: [{ ...TENANT, keys: [...TENANT.keys, { ...TENANT.keys[0], sha256: 'b'.repeat(64) }] }] },
    /line 1: the key ipid_0123456 occurs twice/,
  ],
  'a source with the prefix of an API key': [
    withKey({}, { source: { kind: 'web', address: 'auto' } }),
    /line 1: keys\[0\]: ipid_0123456 is a key of another sort/,
  ],
  'a source that sends its credentials to another scheme': [
    withSource('amplitude-export', { region: 'us', endpoint: 'file:///etc/passwd' }),
    /line 1: keys\[0\]\.record\.source: --endpoint "file:/,
  ],
  'a source with an invalid mapping': [
    withKey({}, { ...SOURCE_KEY, source: { kind: 'http', address: 'auto', map: { nonsense: 'a' } } }),
    /line 1: keys\[0\]\.record\.source: /,
  ],
  'a source whose text to paste has a script': [
    withPage({ base: 'http://x/"><script>alert(1)</script>' }),
    /line 1: keys\[0\]\.record\.source: base: must be https:\/\/host/,
  ],
  'a source whose address ends an attribute': [withPage({ base: 'https://a"b' }), /source: base: must be https/],
  'a source whose address is a script': [withPage({ base: 'javascript:alert(1)' }), /source: base: must be https/],
  'a source whose name clears a screen': [withPage({ name: '\u001b[2J' }), /source: its name is not one line/],
  'a code that adds a header to answers': [
    withPage({ verify: 'a\r\nset-cookie: x=y' }),
    /line 1: keys\[0\]\.record\.source\.verify: must match pattern/,
  ],
  'an e-mail address with a header': [
    withAlert({ target: 'thief@evil.example\r\nBcc: x@y' }),
    /line 1: alerts\.alert_0123456789ab: "thief@evil\.example\\r\\nBcc: x@y" is not an e-mail address/,
  ],
  'an alert without its segment': [withAlert({ on: 'segment.entered' }), /segment\.entered needs a segment/],
  'a name of two lines': [withAlert({ name: 'Keen\nThief' }), /alerts\.alert_0123456789ab: its name is not one line/],
  'two alerts with a name': [
    { tenants: [{ ...TENANT, alerts: { alert_0123456789ab: ALERT, alert_0123456789ac: ALERT } }] },
    /alerts\.alert_0123456789ac: its name "Thief" occurs twice/,
  ],
  'a digest without a schedule': [withAlert({ ...DIGEST, every: undefined }), /a digest is an e-mail with a schedule/],
  'a digest at a time that is none': [withAlert({ ...DIGEST, at: '8' }), /alerts\.alert_0123456789ab\.at: /],
  'a digest without a link that ends it': [withAlert({ ...DIGEST, secret: undefined }), /the link of a digest/],
  'files of an export without a link that ends them': [
    withAlert({ ...FILES, secret: undefined }),
    /the link of a digest/,
  ],
  'files of no export': [withAlert({ ...FILES, export: undefined }), /a subscription to an export is an e-mail/],
  'files of an export with a schedule': [withAlert({ ...FILES, every: 'day', at: '08:00' }), /an alert has none/],
  'an address that gets the files twice': [
    { tenants: [{ ...TENANT, alerts: { alert_0123456789ab: FILES, alert_0123456789ac: FILES } }] },
    /alerts\.alert_0123456789ac: its name "ada@example\.com export_1 false" occurs twice/,
  ],
  'an address that is subscribed twice': [
    { tenants: [{ ...TENANT, alerts: { alert_0123456789ab: DIGEST, alert_0123456789ac: DIGEST } }] },
    /alerts\.alert_0123456789ac: its name "ada@example\.com" occurs twice/,
  ],
  'a segment that no parser takes': [
    { tenants: [{ ...TENANT, segments: { segment_0123456789ab: { ...SEGMENT, where: 'industry' } } }] },
    /line 1: segments\.segment_0123456789ab: /,
  ],
  'a letter of a tenant that leads out of its folder': [
    { letters: [letterOfTenant('../x')] },
    /dead-letters\.ndjson\.gz, line 1: its event is of the tenant "\.\.\/x"/,
  ],
  'a letter whose row does not end': [{ letters: [letterOfTenant('acme', '')] }, /line 1: its row does not end/],
  'too many partitions': [{ manifest: { partitions: 1_000_000_000 } }, /partitions: must be at most 1024/],
}

for (const [name, [content, message]] of Object.entries(REFUSED)) {
  test(`a backup is refused before anything is written: ${name}`, async (t) => {
    const opened = openBackup(await write(t, content), progress, ingest)
    await assert.rejects(opened, (error) => error instanceof BackupRefusedError && message.test(error.message))
  })
}

test('rows of a tenant that leads out of its folder are refused', async (t) => {
  const rowsOf = async (...tenants: readonly string[]) => {
    const dir = mkdtempSync(join(tmpdir(), 'ipid-rows-'))
    t.after(() => rmSync(dir, { recursive: true, force: true }))
    const file = await writeLines(dir, 'outcomes.tsv.gz', lines(tenants.map((id) => `a\t${id}\tb`)))
    const mine = await writeLines(dir, 'mine.gz', lines(['../mine']))
    const tables = [
      { table: 'outcomes', columns: ['day', 'tenant_id', 'reason'], create: 'x', file },
      { table: 'mine', columns: ['tenant_id'], create: 'x', file: mine },
    ]
    return await write(t, { manifest: { tables } }, dir)
  }
  await openBackup(await rowsOf('acme', 'acme', 'other'), progress, ingest)
  for (const id of ['../x', '', 'Acme', 'a\\tb']) {
    await assert.rejects(openBackup(await rowsOf('acme', id), progress, ingest), (error: Error) => {
      assert.ok(error instanceof BackupRefusedError)
      return error.message.endsWith(`outcomes.tsv.gz, line 2: it is of the tenant ${JSON.stringify(id)}`)
    })
  }
})

test('digests of several segments may have the same cut name', async (t) => {
  const segments = { segment_0123456789ab: SEGMENT }
  const alerts = {
    alert_0123456789ab: DIGEST,
    alert_0123456789ac: { ...DIGEST, segment_id: 'segment_0123456789ab' },
    alert_0123456789ad: { ...ALERT, name: DIGEST.name },
  }
  const dir = await write(t, { tenants: [{ ...TENANT, segments, alerts }] })
  assert.equal((await openBackup(dir, progress, ingest)).contents.alerts.length, 3)
})

test('names that earlier versions took still load', async (t) => {
  const name = 'Keen\u202e\u2028'
  const segments = { segment_0123456789ab: { ...SEGMENT, name } }
  const alerts = { alert_0123456789ab: { ...ALERT, name } }
  const dir = await write(t, { tenants: [{ ...TENANT, segments, alerts }] })
  const { contents } = await openBackup(dir, progress, ingest)
  assert.deepEqual(
    contents.alerts.map((alert) => alert.name),
    [name],
  )
})

test('keys, sources, alerts and exports of a backup are listed', async (t) => {
  const key = { ...TENANT.keys[0]!, used_ms: 0 }
  const pull = { every_ms: 60_000, settings: { url: 's3://bucket/logs?region=eu-central-1' } }
  const source = {
    sha256: 'b'.repeat(64),
    used_ms: null,
    record: { ...KEY, ...SOURCE_KEY, source: { kind: 's3', address: 'payload', pull, base: 'https://thief.example' } },
  }
  const dir = await write(t, { tenants: [{ ...TENANT, keys: [key, source], alerts: { alert_0123456789ab: ALERT } }] })
  const { contents } = await openBackup(dir, progress, ingest)
  const facts = { tenant_id: 'acme', created_at: TIME, revoked_at: null }
  assert.deepEqual(contents, {
    keys: [{ ...facts, prefix: KEY.prefix, last_used: '1970-01-01T00:00:00.000Z' }],
    sources: [
      {
        ...facts,
        source_id: 'src_0123456',
        kind: 's3',
        place: pull.settings.url,
        base: 'https://thief.example',
        last_used: null,
      },
    ],
    alerts: [
      { tenant_id: 'acme', alert_id: 'alert_0123456789ab', name: 'Thief', to: 'email', target: 'ada@example.com' },
    ],
    crms: [],
    exports: [],
  })
})

test('a manifest names each file and each table once, and no file outside of its folder', async (t) => {
  const events = { table: 'events', columns: ['a'], create: 'x' }
  const file = (name: string) => ({ name, lines: 0, bytes: 0, sha256: HASH })
  const tables = (...names: string[]) => ({
    manifest: { tables: names.map((name) => ({ ...events, file: file(name) })) },
  })
  const opened = async (content: Content) => openBackup(await write(t, content), progress, ingest)
  await assert.rejects(opened(tables('..')), /tables\[0\]\.file\.name: must match pattern/)
  await assert.rejects(opened(tables('tenants.ndjson.gz')), /names the file "tenants.ndjson.gz" twice/)
  await assert.rejects(opened(tables('a', 'b')), /names the table "events" twice/)
  const dir = await write(t, {})
  truncateSync(join(dir, 'manifest.json'), 70_000_000)
  await assert.rejects(openBackup(dir, progress, ingest), /manifest\.json is larger than 67108864 bytes/)
})

test('a manifest or a line nested too deep is refused with that reason', async (t) => {
  const dir = await write(t, {})
  const path = join(dir, 'manifest.json')
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
  writeFileSync(path, readFileSync(path, 'utf8').replace('{', `{"x":${deep},`))
  await assert.rejects(openBackup(dir, progress, ingest), (error: Error) => {
    assert.ok(error instanceof BackupRefusedError)
    return /manifest\.json is nested more than \d+ levels deep/.test(error.message)
  })
  const lines = await write(t, { tenants: [JSON.stringify(TENANT).replace('{', `{"x":${deep},`)] })
  await assert.rejects(
    openBackup(lines, progress, ingest),
    /tenants\.ndjson\.gz, line 1: is nested more than \d+ levels deep/,
  )
})

test('a file has exactly the lines of its manifest, and no line that fills the memory', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-foreign-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  const read = async (name: string, lines: number) => {
    for await (const _ of readPortions(dir, { name, lines, bytes: 0, sha256: '' }, 1_000_000));
  }
  await writeLines(dir, 'two', ndjson(['a', 'b']))
  await read('two', 2)
  await assert.rejects(read('two', 1), /two has more than 1 lines/)
  await assert.rejects(read('two', 3), /two has 2 lines, not 3/)
  writeFileSync(join(dir, 'open'), gzipSync('a\nb'))
  await assert.rejects(read('open', 1), /the last line of open is cut off/)

  const zeros = Buffer.alloc(1_048_576)
  async function* endless(pieces: number) {
    for (let i = 0; i < pieces; i++) yield zeros
    yield Buffer.from('\n')
  }
  const most = BACKUP_LINE_BYTES_MAX / zeros.length
  await writeLines(dir, 'long', endless(most))
  await read('long', 1)
  await assert.rejects(writeLines(dir, 'longer', endless(most + 1)), /longer, line 1 is longer than 67108864 bytes/)
  writeFileSync(join(dir, 'longest'), gzipSync(Buffer.alloc(BACKUP_LINE_BYTES_MAX + zeros.length)))
  await assert.rejects(read('longest', 1), /longest, line 1 is longer than 67108864 bytes/)
  writeFileSync(join(dir, 'cut'), 'no gzip')
  await assert.rejects(read('cut', 1), /the backup is damaged: cut cannot be read/)
  appendFileSync(join(dir, 'two'), 'x')
  await assert.rejects(read('two', 2), /the backup is damaged: two cannot be read/)
})
