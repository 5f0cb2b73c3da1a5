import type { ApiCompany } from '../../schemas/api/companies.ts'
import type { CountedCompany } from '../../schemas/companies.ts'

/** A company as programs read it: in the API and in files. */
export function apiCompany({ company_id, name, ...others }: CountedCompany): ApiCompany {
  return { company_id, business_name: name, name, ...others }
}
