import { useState } from 'preact/hooks'
import type { ExportMailListed, ListedExport, MailExportBody } from '../../../../../schemas/dashboard/exports.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { Checkbox, FieldError, TextInput } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Table } from '../../design/table.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import { useAction } from '../../lib/use-action.ts'
import { NoMail } from '../alerts/no-mail.tsx'
import { hasFailed, mailWords } from './words.ts'

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
      const what = made.once ? `the next file of ${name}` : `each new file of ${name}`
      toast({
        text:
          made.unconfirmed === null
            ? `${made.address} gets ${what}.`
            : `${made.address} gets a mail with a link that confirms, and after that ${what}.`,
      })
    })
  const change = (verb: 'ask-again' | 'remove', { mail_id, address: to }: ExportMailListed) =>
    changing.run(async () => {
      await post(`${path}/${verb}`, { mail_id })
      onChanged()
      toast({ text: verb === 'remove' ? `${to} gets no more files.` : `${to} gets a mail with a link that confirms.` })
    })
  return (
    <Dialog
      title={`Send ${name} by e-mail`}
      isWide
      onClose={onClose}
      actions={<Button onClick={onClose}>Close</Button>}
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
              <TextInput
                label="E-mail address"
                type="email"
                required
                maxLength={320}
                placeholder="you@example.com"
                autocomplete="email"
                spellcheck={false}
                value={address}
                error={sending.field === 'target' ? sending.error : undefined}
                hint="A new address gets a mail first, and confirms. A file of more than 7 MB is a link to this page."
                onInput={setAddress}
              />
              <FieldError error={sending.field === 'target' ? undefined : sending.error} />
              <Row justify="between">
                <Checkbox label="Only the next file" isChecked={once} onChange={setOnce} />
                <Button type="submit" variant="primary" disabled={sending.isBusy}>
                  Send files
                </Button>
              </Row>
            </Stack>
          </form>
        )}
        <FieldError error={changing.error} />
        {mails.length > 0 && (
          <Table
            label={`Receivers of ${name}`}
            rows={mails}
            keyOf={({ mail_id: id }) => id}
            columns={[
              {
                key: 'address',
                label: 'Receiver',
                text: 'wrap',
                inCard: 'whole',
                render: (mail) => (
                  <Stack gap={1}>
                    <Text as="span" isStrong>
                      {mail.address}
                    </Text>
                    <Text tone={hasFailed(mail) ? 'bad' : 'soft'} isSmall>
                      {mail.once ? 'The next file.' : 'Each file.'} {mailWords(mail)}
                    </Text>
                  </Stack>
                ),
              },
              {
                key: 'actions',
                label: 'Actions',
                isLabelHidden: true,
                isActions: true,
                render: (mail) => (
                  <Row gap={2}>
                    {mail.unconfirmed !== null && (
                      <Button size="s" disabled={changing.isBusy} onClick={() => change('ask-again', mail)}>
                        Send the link again
                      </Button>
                    )}
                    <Button size="s" disabled={changing.isBusy} onClick={() => change('remove', mail)}>
                      Send no more
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
