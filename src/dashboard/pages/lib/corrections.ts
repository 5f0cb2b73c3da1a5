import type { CorrectedAnswer, CorrectionsBody } from '../../../../schemas/dashboard/corrections.ts'
import { toast } from '../design/toast.tsx'
import { post } from './api.ts'

/**
 * Corrects companies, and offers to take it back in the same place.
 * @param done one sentence: what was done
 * @param changed what a page shows is not true any more
 * @throws ApiError
 */
export async function correct(tenant: string, body: CorrectionsBody, done: string, changed: () => void): Promise<void> {
  const path = `/api/tenants/${tenant}/corrections`
  const { change_id, companies } = await post<CorrectedAnswer>(path, body)
  changed()
  if (companies === 0) {
    toast({ text: 'It was so already.' })
    return
  }
  const undo = async () => {
    await post<CorrectedAnswer>(`${path}/undo`, { change_id })
    changed()
  }
  toast({ text: done, undo })
}
