import { useState } from 'preact/hooks'
import type { ExportMailListed, ListedExport, MailExportBody } from '../../../../../schemas/dashboard/exports.ts'
import { AddressInput } from '../../components/address-input.tsx'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { Checkbox, FieldError } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Table } from '../../design/table.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import { useAction } from '../../lib/use-action.ts'
import { TEXTS } from '../../texts/texts.ts'
import { NoMail } from '../alerts/no-mail.tsx'
import { hasFailed, mailWords } from './words.ts'

const texts = TEXTS.exports.mails

interface MailsDialogProps {
  readonly tenant: string
  readonly shown: ListedExport
  readonly canEmail: boolean
  /** Address of the user; empty: not known. */
  readonly own: string
  readonly onChanged: () => void
  readonly onClose: () => void
}

/** Who gets the files of an export by e-mail. */
export function MailsDialog({ tenant, shown, canEmail, own, onChanged, onClose }: MailsDialogProps) {
  const path = `/api/tenants/${tenant}/exports/mail`
  const { export_id, name, mails } = shown
  const [address, setAddress] = useState(own)
  const [once, setOnce] = useState(false)
  const sending = useAction()
  const changing = useAction()
  const send = () =>
    sending.run(async () => {
      const body: MailExportBody = { export_id, address, once }
      const made = await post<ExportMailListed>(path, body)
      onChanged()
      setAddress('')
      const files = made.once ? texts.nextFile(name) : texts.eachFile(name)
      toast({ text: (made.unconfirmed === null ? texts.gets : texts.getsAfter)(made.address, files) })
    })
  const change = (verb: 'ask-again' | 'remove', { mail_id, address: to }: ExportMailListed) =>
    changing.run(async () => {
      await post(`${path}/${verb}`, { mail_id })
      onChanged()
      toast({ text: (verb === 'remove' ? texts.ended : texts.asked)(to) })
    })
  return (
    <Dialog
      title={texts.title(name)}
      isWide
      onClose={onClose}
      actions={<Button onClick={onClose}>{TEXTS.words.buttons.close}</Button>}
    >
      <Stack>
        {!canEmail && <NoMail />}
        {canEmail && (
          <form
            onSubmit={(event) => {
              event.preventDefault()
              send()
            }}
          >
            <Stack gap={3}>
              <AddressInput
                label={texts.address}
                value={address}
                error={sending.field === 'target' ? sending.error : undefined}
                hint={texts.confirms}
                onInput={setAddress}
              />
              <FieldError error={sending.field === 'target' ? undefined : sending.error} />
              <Row justify="between">
                <Checkbox label={texts.onlyNext} isChecked={once} onChange={setOnce} />
                <Button type="submit" variant="primary" disabled={sending.isBusy}>
                  {texts.send}
                </Button>
              </Row>
            </Stack>
          </form>
        )}
        <FieldError error={changing.error} />
        {mails.length > 0 && (
          <Table
            label={texts.receiversOf(name)}
            rows={mails}
            keyOf={({ mail_id: id }) => id}
            columns={[
              {
                key: 'address',
                label: texts.receiver,
                text: 'wrap',
                inCard: 'whole',
                render: (mail) => (
                  <Stack gap={1}>
                    <Text as="span" isStrong>
                      {mail.address}
                    </Text>
                    <Text tone={hasFailed(mail) ? 'bad' : 'soft'} isSmall>
                      {mail.once ? texts.next : texts.each} {mailWords(mail)}
                    </Text>
                  </Stack>
                ),
              },
              {
                key: 'actions',
                label: TEXTS.words.fields.actions,
                isLabelHidden: true,
                isActions: true,
                render: (mail) => (
                  <Row gap={2}>
                    {mail.unconfirmed !== null && (
                      <Button size="s" disabled={changing.isBusy} onClick={() => change('ask-again', mail)}>
                        {texts.askAgain}
                      </Button>
                    )}
                    <Button size="s" disabled={changing.isBusy} onClick={() => change('remove', mail)}>
                      {texts.end}
                    </Button>
                  </Row>
                ),
              },
            ]}
          />
        )}
      </Stack>
    </Dialog>
  )
}
