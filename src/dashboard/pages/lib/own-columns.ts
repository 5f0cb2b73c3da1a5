import type { OwnColumnsAnswer } from '../../../../schemas/dashboard/corrections.ts'
import type { CountedColumn, OwnColumn } from '../../../../schemas/facts.ts'
import { day, number } from './format.ts'
import { type Data, useData } from './use-data.ts'

const NONE: readonly CountedColumn[] = []

/** Columns of the tenant's own. */
export function useOwnColumns(tenant: string): Data<OwnColumnsAnswer> & { readonly columns: readonly CountedColumn[] } {
  const data = useData<OwnColumnsAnswer>(`/api/tenants/${tenant}/own-columns`)
  return { ...data, columns: data.value?.columns ?? NONE }
}

/** A value of an own column as people read it. */
export function ownText({ type }: Pick<OwnColumn, 'type'>, value: string): string {
  if (value === '') return ''
  return type === 'number' ? number(Number(value)) : type === 'date' ? day(value) : value
}
