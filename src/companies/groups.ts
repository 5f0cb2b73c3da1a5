import type { CompanyFilter } from '../../schemas/companies.ts'
import type { ConditionGroup } from '../../schemas/dashboard/companies.ts'
import { type Condition, fieldOf } from './condition.ts'
import { writtenTerms } from './where.ts'

/**
 * A condition as groups that must all hold, for a page that draws them: any of, all of, or none of some terms. Undefined when it has another
 * form.
 */
export function groupsOf(condition: Condition): ConditionGroup[] | undefined {
  const singles: ConditionGroup['terms'] = []
  const groups: ConditionGroup[] = []
  for (const part of 'all' in condition ? condition.all : [condition]) {
    const single = 'is' in part ? writtenTerms(part.is) : []
    if (single.length === 1) {
      singles.push(...single)
      continue
    }
    const group = groupOf(part)
    if (group === undefined) return undefined
    groups.push(group)
  }
  return singles.length === 0 ? groups : [{ kind: 'all', terms: singles }, ...groups]
}

function groupOf(part: Condition): ConditionGroup | undefined {
  if ('is' in part) {
    const isNot = isNegative(part.is)
    const terms = writtenTerms(part.is).map((term) => (isNot ? { ...term, operator: '=' } : term))
    return { kind: isNot ? 'none' : 'any', terms }
  }
  if ('all' in part) return undefined
  const terms = anyTerms('not' in part ? part.not : part)
  return terms && { kind: 'not' in part ? 'none' : 'any', terms }
}

/** Terms of which any must hold; undefined when there is more to it. */
function anyTerms(part: Condition): ConditionGroup['terms'] | undefined {
  const found: ConditionGroup['terms'] = []
  for (const each of 'any' in part ? part.any : [part]) {
    const terms = 'is' in each ? writtenTerms(each.is) : []
    if (!('is' in each) || (terms.length > 1 && isNegative(each.is))) return undefined
    found.push(...terms)
  }
  return found
}

function isNegative(leaf: CompanyFilter): boolean {
  return fieldOf(leaf)[0].endsWith('_not')
}
