import { isDeepStrictEqual } from 'node:util'
import { sizedReader } from '../../providers/mmdb/as-sizes.ts'
import { recordReader } from '../../providers/mmdb/read-record.ts'
import { isUnknown, recognise } from '../../providers/mmdb/recognise.ts'
import { isAboutSystems, readDecidedRecord } from '../../providers/ranges/decided-records.ts'
import { encodeRangeFile, openRangeFile, type RangeRecord } from '../../providers/ranges/range-file.ts'
import { DECIDED_MEMBERS, decide, rulesDigest, storeDecided } from '../../rules/decided.ts'

/**
 * Adds what the rules say about each AS to a range file, so that no lookup computes it. Takes 80 µs of CPU for each record, and
 * 70 bytes.
 * @throws InputError when the file is damaged, or its records are not about autonomous systems
 */
export async function withDecisions(bytes: Buffer): Promise<Buffer> {
  const file = openRangeFile(bytes)
  const { index, head } = file
  const members = head.members.filter((name) => !DECIDED_MEMBERS.includes(name as (typeof DECIDED_MEMBERS)[number]))
  const shape = await recognise(head.databaseType, [file.decode(0)])
  if (isUnknown(shape) || !isAboutSystems(members)) throw new Error('its records are not about autonomous systems')
  const read = sizedReader(recordReader(shape))
  function* records(): Generator<RangeRecord> {
    for (let record = 0; record < file.records; record++) {
      const values = file.values(record)
      const plain = Object.fromEntries(members.map((name, i) => [name, values[i] ?? null]))
      yield { ...plain, ...decisionOf(plain) }
    }
  }
  const decisionOf = (plain: RangeRecord): RangeRecord => {
    const known = Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== null))
    const facts = read(known)
    const decided = facts && decide(facts.evidence)
    if (facts === undefined || decided === undefined) return {}
    const stored = storeDecided(decided)
    const { id: _, ...made } = readDecidedRecord([...Object.values(plain), ...stored] as never) ?? { id: 0 }
    const { id: __, ...plainFacts } = facts
    // A record whose text the reader changes keeps its own form.
    if (!isDeepStrictEqual(made, { ...plainFacts, decided })) return {}
    return Object.fromEntries(DECIDED_MEMBERS.map((name, i) => [name, stored[i]!]))
  }
  return encodeRangeFile({
    head: { ...head, members: [...members, ...DECIDED_MEMBERS], rules: rulesDigest().text },
    index,
    records: records(),
  })
}
