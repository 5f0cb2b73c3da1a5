import { IMPORT_TARGETS, type ImportColumn } from '../../../schemas/api/company-import.ts'
import { FACT_LIMITS, OWN_TYPES, type OwnColumn, type OwnType } from '../../../schemas/facts.ts'
import { InputError } from '../../run/errors.ts'
import { CSV_TITLES } from '../csv.ts'
import { ownKeyOf, readColumnName, readOwnValue, type ValueForm } from '../facts.ts'
import type { CompanyList } from './list-file.ts'

type FixedTarget = 'domain' | 'name' | 'owner' | 'status' | 'tags'

/** A column of a list that is used. */
export interface UsedColumn {
  /** Its place in a row. */
  readonly index: number
  readonly header: string
  /** `own`: a value of the column `own`. */
  readonly target: FixedTarget | 'own'
  readonly own: OwnColumn | undefined
  readonly isNew: boolean
}

/** Headers of spreadsheets and CRMs, as `plainName` has them, best ones first. */
const KNOWN: Readonly<Record<FixedTarget, readonly string[]>> = {
  domain: [
    ...[
      'company domain name',
      'company domain',
      'domain',
      'domain name',
      'website domain',
      'website',
      'company website',
    ],
    ...['account website', 'website url', 'web site', 'homepage', 'url', 'web', 'site', 'webseite', 'internetseite'],
  ],
  name: [
    ...['company name', 'company', 'account name', 'account', 'organization name', 'organisation name', 'organization'],
    ...['organisation', 'business name', 'name', 'customer name', 'firmenname', 'firma', 'unternehmen', 'kunde'],
  ],
  owner: ['owner', 'company owner', 'account owner', 'record owner', 'owner name', 'lead owner', 'betreuer'],
  status: [
    ...[
      'status',
      'company status',
      'account status',
      'customer status',
      'relationship',
      'lifecycle stage',
      'lead status',
    ],
    ...['stage', 'account type', 'type'],
  ],
  tags: ['tags', 'tag', 'labels', 'label'],
}

/** Ids of other programs, and columns of our own exports that visits fill. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  ...['id', 'record id', 'company id', 'account id', 'organization id'],
  ...CSV_TITLES.map(plainName),
])

function plainName(header: string): string {
  return header
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

/** Cells that people and programs write for no value. */
const NONE: ReadonlySet<string> = new Set(['', '-', '–', '—', 'n/a', 'na', '#n/a', 'null', 'none', '(blank)'])

/** The text of a cell; empty when it means no value. Takes away the apostrophe before text that looks like a formula. */
export function cellOf(cells: readonly string[], index: number): string {
  const text = (cells[index] ?? '').trim().replace(/^'(?=[=+\-@])/, '')
  return NONE.has(text.toLowerCase()) ? '' : text
}

/**
 * What the columns of a list become: as the person chose, else by their names and values.
 * @param own columns that the tenant has
 * @param map targets by header, see `IMPORT_TARGETS`
 * @returns the columns in the order of the file, those that are left out with an empty target, and the used ones
 * @throws InputError when a choice cannot be followed
 */
export function columnsOf(
  list: CompanyList,
  own: readonly OwnColumn[],
  map: Readonly<Record<string, string>>,
  form: ValueForm,
): { readonly shown: readonly ImportColumn[]; readonly used: readonly UsedColumn[] } {
  const { header } = list
  const unknown = Object.keys(map).find((name) => !header.includes(name))
  if (unknown !== undefined) {
    throw new InputError(
      `the list has no column “${unknown}”; it has ${header.filter((name) => name !== '').join(', ')}`,
    )
  }
  const isFirst = header.map((name, index) => name !== '' && header.indexOf(name) === index)
  const taken = new Set(Object.values(map))
  const fixed = new Map<number, FixedTarget>()
  for (const target of Object.keys(KNOWN) as FixedTarget[]) {
    if (taken.has(target)) continue
    const ranks = header.map((name, index) =>
      isFirst[index] && !Object.hasOwn(map, name) ? KNOWN[target].indexOf(plainName(name)) : -1,
    )
    const best = Math.min(...ranks.filter((rank) => rank >= 0))
    const index = ranks.indexOf(best)
    if (index >= 0 && !fixed.has(index)) fixed.set(index, target)
  }
  const used: UsedColumn[] = []
  const made = new Map<string, OwnColumn>()
  const room = () => FACT_LIMITS.columns - own.length - made.size
  const keys = new Map<string, string>()
  const take = (index: number, target: FixedTarget | 'own', column?: OwnColumn, isNew = false) => {
    const name = column === undefined ? target : `own.${column.key}`
    const other = keys.get(name)
    if (other !== undefined) throw new InputError(`the columns “${other}” and “${header[index]}” both become ${name}`)
    keys.set(name, header[index]!)
    used.push({ index, header: header[index]!, target, own: column, isNew })
    return name
  }
  const makes = (index: number, type: OwnType, isGuess: boolean): string => {
    const key = ownKeyOf(header[index]!)
    const known = own.find((column) => column.key === key)
    if (known !== undefined) {
      if (isGuess || known.type === type) return take(index, 'own', known)
      throw new InputError(
        `“${header[index]}” is an own column of type ${known.type} already: choose own.${key}, or remove that column first`,
      )
    }
    if (isGuess && (key === '' || room() <= 0 || keys.has(`own.${key}`))) return ''
    if (room() <= 0) {
      throw new InputError(`a workspace has at most ${FACT_LIMITS.columns} own columns: leave out “${header[index]}”`)
    }
    const column = { key, name: readColumnName(header[index]!), type }
    made.set(key, column)
    return take(index, 'own', column, true)
  }
  const targets = header.map((name, index): string => {
    if (!isFirst[index]) return ''
    const chosen = Object.hasOwn(map, name) ? map[name]! : undefined
    const guessed = fixed.get(index)
    if (chosen === undefined) {
      if (guessed !== undefined) return take(index, guessed)
      if (LEFT_OUT.has(plainName(name))) return ''
      const known = own.some(({ key }) => key === ownKeyOf(name))
      const type = known ? 'text' : typeOf(list, index, form)
      return type === undefined ? '' : makes(index, type, true)
    }
    if (chosen === '') return ''
    if (Object.hasOwn(KNOWN, chosen)) return take(index, chosen as FixedTarget)
    if ((OWN_TYPES as readonly string[]).includes(chosen)) return makes(index, chosen as OwnType, false)
    const column = own.find(({ key }) => `own.${key}` === chosen)
    if (column !== undefined) return take(index, 'own', column)
    const all = [...IMPORT_TARGETS, ...own.map(({ key }) => `own.${key}`)]
    throw new InputError(`“${name}” cannot become “${chosen}”: choose one of ${all.join(', ')}, or nothing`)
  })
  const shown = header.map((name, index) => {
    const column = used.find((one) => one.index === index)
    // An own column that is new has the type as its target, as a choice has.
    const target = column?.isNew ? column.own!.type : targets[index]!
    const { own: made, isNew = false } = column ?? {}
    return { name, target, example: exampleOf(list, index), key: made?.key ?? '', is_new: isNew }
  })
  return { shown, used }
}

function exampleOf({ rows }: CompanyList, index: number): string {
  for (const { cells } of rows) {
    const text = cellOf(cells, index)
    if (text !== '') return text.slice(0, 100)
  }
  return ''
}

/** A column is of a type when this part of its values is: others are typing errors, which are shown. */
const OF_TYPE_MIN = 0.9

/** The type of a column; undefined when it has no values. */
function typeOf({ rows }: CompanyList, index: number, form: ValueForm): OwnType | undefined {
  const values = rows.map(({ cells }) => cellOf(cells, index)).filter((text) => text !== '')
  if (values.length === 0) return undefined
  return (
    (['number', 'date'] as const).find((type) => {
      // A number with a zero before it is a code, such as a postcode.
      if (type === 'number' && values.some((text) => /^0\d/.test(text))) return false
      return values.filter((text) => isOf(type, text, form)).length >= OF_TYPE_MIN * values.length
    }) ?? 'text'
  )
}

function isOf(type: OwnType, text: string, form: ValueForm): boolean {
  try {
    readOwnValue(type, text, form)
    return true
  } catch {
    // Which day it is can be chosen later.
    return type === 'date' && form.dateOrder === undefined && isOf(type, text, { ...form, dateOrder: 'dmy' })
  }
}
