import { useEffect, useState } from 'preact/hooks'
import type { UploadAnswer, UploadChoice } from '../../../../schemas/dashboard/uploads.ts'
import { TEXTS } from '../texts/texts.ts'
import { changeHeaders } from './api.ts'
import { Rate } from './rate.ts'

const texts = TEXTS.lib.transfers

/** An upload. It continues while the user visits other pages. */
export interface Transfer {
  readonly id: number
  readonly tenant: string
  readonly file: File
  readonly choice: UploadChoice
  /** `stored`: it became a job. `repeated`: another job has the same file, and the server took nothing. */
  readonly state: 'sending' | 'stored' | 'repeated' | 'failed' | 'cancelled'
  readonly sent: number
  readonly total: number
  readonly rate: Rate
  readonly jobId?: string
  readonly problem?: string
}

let transfers: readonly Transfer[] = []
let lastId = 0
const requests = new Map<number, XMLHttpRequest>()
const listeners = new Set<() => void>()

/** Current and recent uploads of a tenant. */
export function useTransfers(tenant: string): readonly Transfer[] {
  const [all, setAll] = useState(transfers)
  useEffect(() => {
    const listener = () => setAll(transfers)
    listeners.add(listener)
    listener()
    return () => void listeners.delete(listener)
  }, [])
  return all.filter((transfer) => transfer.tenant === tenant)
}

/** Body of an upload or preview: a choice of how to read the file, then its bytes, read while they are sent. */
export function bodyOf(choice: object, file: Blob): Blob {
  return new Blob([`${JSON.stringify(choice)}\n`, file])
}

export function startTransfer(tenant: string, file: File, choice: UploadChoice): void {
  const id = ++lastId
  const body = bodyOf(choice, file)
  const base = { id, tenant, file, choice, sent: 0, total: body.size, rate: new Rate() }
  set([...transfers, { ...base, state: 'sending' }])
  const request = new XMLHttpRequest()
  requests.set(id, request)
  request.open('POST', `/api/tenants/${encodeURIComponent(tenant)}/uploads`)
  for (const [name, value] of Object.entries(changeHeaders())) request.setRequestHeader(name, value)
  request.upload.onprogress = ({ loaded }) => {
    base.rate.add(loaded)
    change(id, { sent: loaded })
  }
  const end = (last: Partial<Transfer>) => {
    requests.delete(id)
    change(id, last)
  }
  request.onload = () => end(outcomeOf(request))
  request.onabort = () => end({ state: 'cancelled' })
  request.onerror = () => end({ state: 'failed', problem: texts.interrupted })
  request.send(body)
}

/** Cancels an upload. The server keeps nothing of the file. */
export function cancelTransfer(id: number): void {
  requests.get(id)?.abort()
}

export function dismissTransfer(id: number): void {
  set(transfers.filter((transfer) => transfer.id !== id))
}

/** Sends the file although another job has it. */
export function repeatTransfer({ id, tenant, file, choice, jobId }: Transfer): void {
  dismissTransfer(id)
  startTransfer(tenant, file, { ...choice, again: jobId })
}

function outcomeOf({ status, responseText }: XMLHttpRequest): Partial<Transfer> {
  const answer = parsed(responseText)
  if (status === 202 || status === 200) {
    const { job_id: jobId, status: state } = answer as UploadAnswer
    return { state: state === 'queued' ? 'stored' : 'repeated', jobId }
  }
  const { detail = TEXTS.lib.api.answered(status) } = answer as { detail?: string }
  return { state: 'failed', problem: status === 413 ? texts.tooLarge(detail) : detail }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

function change(id: number, changes: Partial<Transfer>): void {
  // Stored files appear among the jobs.
  const rest = changes.state === 'cancelled' ? transfers.filter((transfer) => transfer.id !== id) : transfers
  set(rest.map((transfer) => (transfer.id === id ? { ...transfer, ...changes } : transfer)))
}

function set(next: readonly Transfer[]): void {
  transfers = next
  const isSending = transfers.some(({ state }) => state === 'sending')
  // Leaving the site would cancel uploads.
  window.onbeforeunload = isSending ? (event) => event.preventDefault() : null
  for (const listener of listeners) listener()
}
