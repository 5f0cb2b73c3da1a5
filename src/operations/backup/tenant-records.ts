import type { AlertRecord } from '../../../schemas/alert.ts'
import { ALERT_LIMITS } from '../../../schemas/alert.ts'
import type { SourceFacts } from '../../../schemas/api-key.ts'
import type { TenantCopy } from '../../../schemas/backup.ts'
import { EXPORT_LIMITS } from '../../../schemas/limits.ts'
import { SEGMENT_LIMITS, type SegmentRecord } from '../../../schemas/segment.ts'
import { assertAlertFacts, assertEmailAddress } from '../../alerts/facts.ts'
import { assertFilter } from '../../companies/filter.ts'
import { parseWhere } from '../../companies/where.ts'
import { httpOrigin } from '../../config/values.ts'
import { readRule } from '../../enrichment/tenant-rules/rule.ts'
import type { Source } from '../../pipeline/declaration/source.ts'
import { parseMapping } from '../../pipeline/sources/mapping.ts'

/** Sources of the pipeline, as far as their records need them. */
export type SourceKinds = readonly Pick<Source, 'name' | 'pull' | 'tool'>[]

/** Settings of the instance that a pull may rely on. The instance that is restored has its own. */
const ANY_ENVIRONMENT = { AWS_REGION: 'us-east-1' }

/**
 * Passes each record of a tenant to the parser for people's input, so that a restore stores nothing that the instance
 * would refuse otherwise. The schema was checked before.
 * @returns the tenant with its rules in today's spelling
 * @throws Error that names the place and the fault
 */
export function parsedTenant(tenant: TenantCopy, kinds: SourceKinds): TenantCopy {
  const { record, keys, segments = {}, alerts = {}, exports = {} } = tenant
  const rules = record.rules?.map((text, i) => {
    const rule = readRule(text)
    if (typeof rule === 'string') throw new Error(`record.rules[${i}]: ${rule}`)
    return rule.text
  })
  for (const [i, { record: key }] of keys.entries()) {
    const isSource = key.prefix.startsWith('src_')
    if (isSource !== (key.source !== undefined)) throw new Error(`keys[${i}]: ${key.prefix} is a key of another sort`)
    if (key.source !== undefined) at(`keys[${i}].record.source`, () => assertSource(key.source!, kinds))
  }
  assertNamed('segments', segments, SEGMENT_LIMITS.segmentsMax, assertSegment)
  assertNamed('alerts', alerts, ALERT_LIMITS.alertsMax, assertAlert)
  assertNamed('exports', exports, EXPORT_LIMITS.exportsMax, () => {})
  return rules === undefined ? tenant : { ...tenant, record: { ...record, rules: [...new Set(rules)] } }
}

function assertNamed<T extends { readonly name: string }>(
  what: string,
  records: Readonly<Record<string, T>>,
  max: number,
  assert: (record: T) => void,
): void {
  const names = new Set<string>()
  for (const [id, record] of Object.entries(records)) {
    at(`${what}.${id}`, () => assert(record))
    at(`${what}.${id}`, () => assertOneLine(record.name))
    if (names.has(record.name)) throw new Error(`${what}.${id}: its name ${JSON.stringify(record.name)} occurs twice`)
    names.add(record.name)
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

function assertAlert({ on, after_days: afterDays, segment_id: segment, digest, to, target, secret }: AlertRecord) {
  assertAlertFacts({ on, afterDays, segment, digest, to })
  if (to === 'email') assertEmailAddress(target)
  else if (!/^https?:\/\/[^\s\p{C}]+$/u.test(target)) throw new Error(`${JSON.stringify(target)} is not a URL`)
  if ((secret === undefined) !== (to === 'email')) throw new Error('a webhook and Slack have a secret, e-mail has none')
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
