import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { Meter } from '../../design/details.tsx'
import { Grow, Row, Text } from '../../design/layout.tsx'
import { Notice } from '../../design/notice.tsx'
import { Card } from '../../design/page.tsx'
import { bytes, percent } from '../../lib/format.ts'
import { timeLeft } from '../../lib/rate.ts'
import { cancelTransfer, dismissTransfer, repeatTransfer, type Transfer } from '../../lib/transfers.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.uploads.transfer

/** An upload and its progress or error. */
export function TransferCard({ transfer }: { readonly transfer: Transfer }) {
  const { id, file, state, jobId, problem } = transfer
  const dismiss = <Button onClick={() => dismissTransfer(id)}>{texts.dismiss}</Button>
  if (state === 'failed') {
    return (
      <Notice tone="bad" role="alert" title={texts.failed(file.name)}>
        <p>{problem}</p>
        {dismiss}
      </Notice>
    )
  }
  if (state === 'repeated') {
    return (
      <Notice tone="warn" role="alert" title={texts.repeated(file.name)}>
        <p>{texts.sameFile(<code>{jobId}</code>)}</p>
        <Row>
          {dismiss}
          <Button variant="danger" onClick={() => repeatTransfer(transfer)}>
            {texts.again}
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
    texts.sent(bytes(sent), bytes(total), percent(total === 0 ? 0 : sent / total)),
    ...(perSecond === undefined ? [] : [texts.perSecond(bytes(perSecond))]),
    ...(sent < total ? [timeLeft(total - sent, perSecond) ?? ''] : [texts.finishing]),
  ]
  return (
    <Card isTight>
      <Row>
        <Badge tone="accent">{texts.uploading}</Badge>
        <Grow>
          <strong>{file.name}</strong>
        </Grow>
        <Button size="s" onClick={() => cancelTransfer(id)} disabled={state !== 'sending'}>
          {TEXTS.words.buttons.cancel}
        </Button>
      </Row>
      <Meter label={texts.transferOf(file.name)} value={sent} max={Math.max(1, total)} isProgress />
      <Text tone="soft" isSmall>
        {facts.filter((fact) => fact !== '').join(' · ')}
      </Text>
    </Card>
  )
}
