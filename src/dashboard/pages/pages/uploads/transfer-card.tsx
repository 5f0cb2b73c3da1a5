import { bytes, percent } from '../../lib/format.ts'
import { timeLeft } from '../../lib/rate.ts'
import { cancelTransfer, dismissTransfer, repeatTransfer, type Transfer } from '../../lib/transfers.ts'

/** An upload and its progress or error. */
export function TransferCard({ transfer }: { readonly transfer: Transfer }) {
  const { id, file, state, jobId, problem } = transfer
  const dismiss = (
    <button type="button" onClick={() => dismissTransfer(id)}>
      Dismiss
    </button>
  )
  if (state === 'failed') {
    return (
      <div class="note problem" role="alert">
        <h2>{file.name} was not uploaded</h2>
        <p>{problem}</p>
        {dismiss}
      </div>
    )
  }
  if (state === 'repeated') {
    return (
      <div class="note warning" role="alert">
        <h2>{file.name} was uploaded before</h2>
        <p>
          Job <code>{jobId}</code> has the same file, so it was not uploaded again. Its events that have no event_id of
          their own would count twice.
        </p>
        <div class="row">
          {dismiss}
          <button type="button" class="danger" onClick={() => repeatTransfer(transfer)}>
            Upload it once more
          </button>
        </div>
      </div>
    )
  }
  return <Sending transfer={transfer} />
}

function Sending({ transfer }: { readonly transfer: Transfer }) {
  const { id, file, state, sent, total, rate } = transfer
  const perSecond = rate.perSecond
  const facts = [
    `${bytes(sent)} of ${bytes(total)}, ${percent(total === 0 ? 0 : sent / total)}`,
    ...(perSecond === undefined ? [] : [`${bytes(perSecond)} a second`]),
    ...(sent < total ? [timeLeft(total - sent, perSecond) ?? ''] : ['the server finishes reading']),
  ]
  return (
    <article class="card job">
      <header>
        <span class="tag">uploading</span>
        <strong class="job-name">{file.name}</strong>
        <button type="button" onClick={() => cancelTransfer(id)} disabled={state !== 'sending'}>
          Cancel
        </button>
      </header>
      <progress aria-label={`Transfer of ${file.name}`} value={sent} max={Math.max(1, total)} />
      <p class="soft facts">{facts.filter((fact) => fact !== '').join(' · ')}</p>
    </article>
  )
}
