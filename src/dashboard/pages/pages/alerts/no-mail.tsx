import { Notice } from '../../design/notice.tsx'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.alerts.noMail

/** What an operator does so that ipid sends e-mail. */
export function NoMail() {
  return (
    <Notice tone="warn" title={texts.title} role="status">
      <p>
        {texts.operator(
          <code>SMTP_URL</code>,
          <code>smtps://user:password@mail.example.com</code>,
          <code>SMTP_FROM</code>,
        )}
      </p>
    </Notice>
  )
}
