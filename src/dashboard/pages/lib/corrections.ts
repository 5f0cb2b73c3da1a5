import type { CorrectedAnswer, CorrectionsBody } from '../../../../schemas/dashboard/corrections.ts'
import { toast } from '../design/toast.tsx'
import { TEXTS } from '../texts/texts.ts'
import { post } from './api.ts'

const texts = TEXTS.lib.corrections

/**
 * Corrects companies, and offers to undo it in the same place.
 * @param done reports the action in one sentence
 * @param changed called when the shown data are outdated
 * @throws ApiError
 */
export async function correct(tenant: string, body: CorrectionsBody, done: string, changed: () => void): Promise<void> {
  await change(tenant, 'corrections', body, done, changed)
}

/** The same for a setting that the history of corrections has. */
export async function changeSetting(
  tenant: string,
  setting: 'intent-pages' | 'heat-weights' | 'fit',
  wanted: object,
  done: string,
  changed: () => void,
): Promise<void> {
  await change(tenant, setting, wanted, done, changed)
}

async function change(tenant: string, call: string, body: object, done: string, changed: () => void): Promise<void> {
  const path = `/api/tenants/${tenant}`
  const { change_id, companies } = await post<CorrectedAnswer>(`${path}/${call}`, body)
  changed()
  if (companies === 0) {
    toast({ text: texts.nothing })
    return
  }
  const undo = async () => {
    await post<CorrectedAnswer>(`${path}/corrections/undo`, { change_id })
    changed()
  }
  toast({ text: done, undo })
}
