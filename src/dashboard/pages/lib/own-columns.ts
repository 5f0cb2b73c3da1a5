import type { OwnColumnsAnswer } from '../../../../schemas/dashboard/corrections.ts'
import type { CountedColumn } from '../../../../schemas/facts.ts'
import { type Data, useData } from './use-data.ts'

const NONE: readonly CountedColumn[] = []

/** Columns of the tenant's own. */
export function useOwnColumns(tenant: string): Data<OwnColumnsAnswer> & { readonly columns: readonly CountedColumn[] } {
  const data = useData<OwnColumnsAnswer>(`/api/tenants/${tenant}/own-columns`)
  return { ...data, columns: data.value?.columns ?? NONE }
}
