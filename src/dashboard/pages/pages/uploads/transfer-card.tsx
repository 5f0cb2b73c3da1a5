import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { Meter } from '../../design/details.tsx'
import { Grow, Row, Text } from '../../design/layout.tsx'
import { Notice } from '../../design/notice.tsx'
import { Card } from '../../design/page.tsx'
import { bytes, percent } from '../../lib/format.ts'
import { timeLeft } from '../../lib/rate.ts'
import { cancelTransfer, dismissTransfer, repeatTransfer, type Transfer } from '../../lib/transfers.ts'

/** An upload and its progress or error. */
export function TransferCard({ transfer }: { readonly transfer: Transfer }) {
  const { id, file, state, jobId, problem } = transfer
  const dismiss = <Button onClick={() => dismissTransfer(id)}>Dismiss</Button>
  if (state === 'failed') {
    return (
      <Notice tone="bad" role="alert" title={`${file.name} was not uploaded`}>
        <p>{problem}</p>
        {dismiss}
      </Notice>
    )
  }
  if (state === 'repeated') {
    return (
      <Notice tone="warn" role="alert" title={`${file.name} was uploaded before`}>
        <p>
          Job <code>{jobId}</code> has the same file, so it was not uploaded again. Its events that have no event_id of
          their own would count twice.
        </p>
        <Row>
          {dismiss}
          <Button variant="danger" onClick={() => repeatTransfer(transfer)}>
            Upload it once more
          </Button>
        </Row>
      </Notice>
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
    <Card isTight>
      <Row>
        <Badge tone="accent">uploading</Badge>
        <Grow>
          <strong>{file.name}</strong>
        </Grow>
        <Button size="s" onClick={() => cancelTransfer(id)} disabled={state !== 'sending'}>
          Cancel
        </Button>
      </Row>
      <Meter label={`Transfer of ${file.name}`} value={sent} max={Math.max(1, total)} isProgress />
      <Text tone="soft" isSmall>
        {facts.filter((fact) => fact !== '').join(' · ')}
      </Text>
    </Card>
  )
}
