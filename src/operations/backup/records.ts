import { ALERT_LIMITS, type AlertRecord } from '../../../schemas/alert.ts'
import type { SourceFacts } from '../../../schemas/api-key.ts'
import {
  ArchivedObject,
  type BackupManifest,
  type BackupTable,
  LetterCopy,
  PullCopy,
  TenantCopy,
} from '../../../schemas/backup.ts'
import { ENVELOPE_FORM } from '../../../schemas/forms.ts'
import { EXPORT_LIMITS } from '../../../schemas/limits.ts'
import { SEGMENT_LIMITS, type SegmentRecord } from '../../../schemas/segment.ts'
import { assertAlertFacts, assertEmailAddress } from '../../alerts/facts.ts'
import { assertFilter } from '../../companies/filter.ts'
import { parseWhere } from '../../companies/where.ts'
import { httpOrigin } from '../../config/values.ts'
import { readRule } from '../../enrichment/tenant-rules/rule.ts'
import type { Pipeline } from '../../pipeline/declaration/pipeline.ts'
import type { Source } from '../../pipeline/declaration/source.ts'
import { formOf } from '../../pipeline/event/block.ts'
import { columnOf } from '../../pipeline/event/row.ts'
import { compileValidator, type Validator } from '../../pipeline/event/validator.ts'
import { parseMapping } from '../../pipeline/sources/mapping.ts'
import { cutText } from '../../run/cut-text.ts'
import { isTimeZone } from '../../run/time-zone.ts'
import { TENANT_ID } from '../../tenants/tenancy.ts'
import { readPortions, readRecords } from './files.ts'
import { BackupRefusedError } from './ports.ts'
import { carriesEvents, letterOf } from './redis/letter.ts'

/*
 * Reads the records of a backup. The folder may come from a stranger, so each line is checked against its schema and against
 * the other rules of a backup before a store gets it.
 */

const [TAB, LINE_FEED] = [9, 10]
const ROWS_BYTES = 4_194_304

const validTenant = compileValidator(TenantCopy)
const validPull = compileValidator(PullCopy)
const validLetter = compileValidator(LetterCopy)
const validObject = compileValidator(ArchivedObject)

/** @throws BackupRefusedError that names file and line */
export function readTenants(
  dir: string,
  { tenants }: Pick<BackupManifest, 'tenants'>,
  pipeline: Pipeline,
): AsyncGenerator<TenantCopy[]> {
  const ids = new Set<string>()
  const kinds = pipeline.sources.map(({ from }) => from)
  const [hashes, prefixes] = [new Set<string>(), new Set<string>()]
  return readRecords(dir, tenants, (value) => {
    assertValid(validTenant, value)
    const tenant = value as TenantCopy
    assertFirst(ids, tenant.id, 'the tenant')
    for (const { sha256, record } of tenant.keys) {
      if (record.tenant_id !== tenant.id)
        throw new Error(`the key ${record.prefix} belongs to tenant ${record.tenant_id}`)
      assertFirst(hashes, sha256, 'the hash of a key')
      assertFirst(prefixes, record.prefix, 'the key')
    }
    return parsedTenant(tenant, kinds)
  })
}

/** @throws BackupRefusedError that names file and line */
export async function* readPulls(
  dir: string,
  { pulls }: Pick<BackupManifest, 'pulls'>,
  pipeline: Pipeline,
): AsyncGenerator<PullCopy[]> {
  // Older versions have no pulls.
  if (pulls === undefined) return
  const ids = new Set<string>()
  yield* readRecords(dir, pulls, (value) => {
    assertValid(validPull, value)
    const pull = value as PullCopy
    assertFirst(ids, pull.id, 'the source')
    assertCursor(pull, pipeline)
    return pull
  })
}

/** @throws BackupRefusedError that names file and line */
export function readLetters(dir: string, manifest: BackupManifest, pipeline: Pipeline): AsyncGenerator<LetterCopy[]> {
  const { dead_letters: file, partitions, ipid_version: version } = manifest
  /** The last id of each partition: milliseconds and number. */
  const last = new Map<number, readonly [bigint, bigint]>()
  return readRecords(dir, file, (value): LetterCopy => {
    assertValid(validLetter, value)
    const letter = value as LetterCopy
    const { partition, fields } = letter
    if (partition >= partitions) throw new Error(`partition ${partition} does not exist: the backup has ${partitions}`)
    const [ms, number] = letter.id.split('-').map(BigInt) as [bigint, bigint]
    const [lastMs, lastNumber] = last.get(partition) ?? [0n, 0n]
    if (ms < lastMs || (ms === lastMs && number <= lastNumber))
      throw new Error('its id must be greater than the one before')
    last.set(partition, [ms, number])
    if (fields.length % 2 !== 0) throw new Error('a field has no value')
    if (!fields.every(isBase64)) throw new Error('a field is not base64')
    const form = formOf(fields.map((field) => Buffer.from(field, 'base64')))
    // A retry of this letter would end the workers.
    if (form > ENVELOPE_FORM) {
      throw new Error(
        `its event has form ${form}, but this ipid reads up to form ${ENVELOPE_FORM}: restore it with ipid ${version}`,
      )
    }
    const { block, stream } = letterOf(letter)
    if (block !== undefined && carriesEvents(pipeline, stream)) {
      if (block.rows.at(-1) !== LINE_FEED) throw new Error('its row does not end')
      for (const id of columnOf(block, 'tenant_id')) {
        if (!TENANT_ID.test(id)) throw new Error(`its event is of the tenant ${JSON.stringify(id)}`)
      }
    }
    return letter
  })
}

/**
 * Checks the names of tenants in the rows of our tables: paths of the archive and of exports are made of them.
 * @throws BackupRefusedError that names file and line
 */
export async function checkRows(dir: string, { file, columns }: BackupTable): Promise<void> {
  const column = columns.indexOf('tenant_id')
  if (column < 0) return
  let line = 0
  let last = Buffer.alloc(0)
  const check = (row: Buffer) => {
    line++
    let start = 0
    for (let i = 0; i < column; i++) start = row.indexOf(TAB, start) + 1
    const tab = row.indexOf(TAB, start)
    const id = row.subarray(start, tab < 0 ? row.length : tab)
    if (id.equals(last)) return
    if (!TENANT_ID.test(id.toString('latin1'))) {
      const shown = JSON.stringify(cutText(id.toString('utf8'), 100))
      throw new BackupRefusedError(`the backup is refused: ${file.name}, line ${line}: it is of the tenant ${shown}`)
    }
    last = Buffer.from(id)
  }
  let rest = Buffer.alloc(0)
  for await (const pieces of readPortions(dir, file, ROWS_BYTES)) {
    const bytes = Buffer.concat([rest, ...pieces])
    let start = 0
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, start)) {
      check(bytes.subarray(start, end))
      start = end + 1
    }
    rest = bytes.subarray(start)
  }
}

/** @throws BackupRefusedError that names file and line */
export function readObjects(
  dir: string,
  { archive }: Pick<BackupManifest, 'archive'>,
): AsyncGenerator<ArchivedObject[]> {
  return readRecords(dir, archive.file, (value) => {
    assertValid(validObject, value)
    return value as ArchivedObject
  })
}

/** A run must not meet a cursor of another kind. */
function assertCursor({ id, state }: PullCopy, { sources }: Pipeline): void {
  const fits = sources.some(({ from: { pull } }) => {
    if (pull === undefined) return false
    const cursor = state.cursor as Record<string, unknown>
    const wanted = Object.entries(pull.begin(0))
    return wanted.every(([name, value]) => {
      const found = cursor[name]
      return typeof found === typeof value && Array.isArray(found) === Array.isArray(value)
    })
  })
  if (!fits) throw new Error(`state.cursor: no kind of source has the cursor of ${id}`)
}

// biome-ignore lint/suspicious/noExplicitAny: of any schema
function assertValid(validator: Validator<any>, value: unknown): void {
  const [problem] = validator(value)
  if (problem === undefined) return
  throw new Error(problem.path === '' ? `it ${problem.message}` : `${problem.path}: ${problem.message}`)
}

function assertFirst(seen: Set<string>, name: string, what: string): void {
  if (seen.has(name)) throw new Error(`${what} ${name} occurs twice`)
  seen.add(name)
}

function isBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text
}

/** Sources of the pipeline, as far as their records need them. */
type SourceKinds = readonly Pick<Source, 'name' | 'pull' | 'tool'>[]

/** Settings of the instance that a pull may rely on. The instance that is restored has its own. */
const ANY_ENVIRONMENT = { AWS_REGION: 'us-east-1' }

/**
 * Passes each record of a tenant to the parser for people's input, so that a restore stores nothing that the instance
 * would refuse otherwise. The schema was checked before.
 * @returns the tenant with its rules in today's spelling
 * @throws Error that names the place and the fault
 */
function parsedTenant(tenant: TenantCopy, kinds: SourceKinds): TenantCopy {
  const { record, keys, segments = {}, alerts = {}, exports = {} } = tenant
  const rules = record.rules?.map((text, i) => {
    const rule = readRule(text)
    if (typeof rule === 'string') throw new Error(`record.rules[${i}]: ${rule}`)
    return rule.text
  })
  if (record.time_zone !== undefined && !isTimeZone(record.time_zone)) {
    throw new Error(`record.time_zone: ${JSON.stringify(record.time_zone)} is not the name of a time zone`)
  }
  for (const [i, { record: key }] of keys.entries()) {
    const isSource = key.prefix.startsWith('src_')
    if (isSource !== (key.source !== undefined)) throw new Error(`keys[${i}]: ${key.prefix} is a key of another sort`)
    if (key.source !== undefined) at(`keys[${i}].record.source`, () => assertSource(key.source!, kinds))
  }
  assertNamed('segments', segments, SEGMENT_LIMITS.segmentsMax, assertSegment)
  const having = (isWanted: (on: AlertRecord['on']) => boolean) =>
    Object.fromEntries(Object.entries(alerts).filter(([, { on }]) => isWanted(on)))
  const firing = having((on) => on !== 'digest' && on !== 'export')
  assertNamed('alerts', firing, ALERT_LIMITS.alertsMax, assertAlert)
  // Their own names may be cut.
  const digests = having((on) => on === 'digest')
  assertNamed('alerts', digests, ALERT_LIMITS.digestsMax, assertAlert, ({ target, segment_id: of = '' }) =>
    `${target} ${of}`.trim(),
  )
  const mails = having((on) => on === 'export')
  assertNamed(
    'alerts',
    mails,
    ALERT_LIMITS.exportMailsMax,
    assertAlert,
    ({ target, export: of, once = false }) => `${target} ${of?.id} ${once}`,
  )
  assertNamed('exports', exports, EXPORT_LIMITS.exportsMax, () => {})
  return rules === undefined ? tenant : { ...tenant, record: { ...record, rules: [...new Set(rules)] } }
}

function assertNamed<T extends { readonly name: string }>(
  what: string,
  records: Readonly<Record<string, T>>,
  max: number,
  assert: (record: T) => void,
  nameOf: (record: T) => string = ({ name }) => name,
): void {
  const names = new Set<string>()
  for (const [id, record] of Object.entries(records)) {
    at(`${what}.${id}`, () => assert(record))
    at(`${what}.${id}`, () => assertOneLine(record.name))
    const name = nameOf(record)
    if (names.has(name)) throw new Error(`${what}.${id}: its name ${JSON.stringify(name)} occurs twice`)
    names.add(name)
  }
  if (names.size > max) throw new Error(`${what}: a tenant has at most ${max}, got ${names.size}`)
}

/** Names of earlier versions may have marks that are refused today; they still load. */
function assertOneLine(name: string): void {
  if (/\p{Cc}/u.test(name)) throw new Error('its name is not one line')
}

function assertSegment({ where }: SegmentRecord): void {
  assertFilter(parseWhere(where))
}

function assertAlert({ after_days: afterDays, segment_id: segment, to, target, secret, ...facts }: AlertRecord) {
  assertAlertFacts({ ...facts, afterDays, segment, to })
  if (to === 'email') assertEmailAddress(target)
  else if (!/^https?:\/\/[^\s\p{C}]+$/u.test(target)) throw new Error(`${JSON.stringify(target)} is not a URL`)
  const hasSecret = to !== 'email' || facts.on === 'digest' || facts.on === 'export'
  if ((secret !== undefined) !== hasSecret)
    throw new Error('a URL, and the link of a digest or an export, have a secret, an alert by e-mail has none')
}

function assertSource({ kind, name, base, preset, map, pull }: SourceFacts, kinds: SourceKinds): void {
  if (name !== undefined) assertOneLine(name)
  // People paste it into their pages.
  if (base !== undefined) at('base', () => httpOrigin(base))
  const known = kinds.find(({ name }) => name === kind)
  // A source of a kind that this pipeline lacks receives nothing.
  if (known === undefined) return
  if (map !== undefined) {
    parseMapping(
      Object.entries(map).map(([name, path]) => `${name}=${path}`),
      'map',
    )
  }
  const presets = known.tool?.presets?.map(({ name }) => name) ?? []
  // `source set … --preset none` leaves an empty text.
  if (preset && !presets.includes(preset)) throw new Error(`there is no preset ${JSON.stringify(preset)}`)
  if ((pull === undefined) !== (known.pull === undefined)) {
    throw new Error(pull === undefined ? `a source of kind ${kind} has a schedule` : `kind ${kind} has no schedule`)
  }
  if (pull !== undefined) known.pull!.assertSettings(pull.settings, ANY_ENVIRONMENT)
}

function at(place: string, check: () => void): void {
  try {
    check()
  } catch (error) {
    throw new Error(`${place}: ${(error as Error).message}`)
  }
}
