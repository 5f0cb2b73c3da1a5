import { Notice } from '../../design/notice.tsx'
import { useMay } from '../../lib/may.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.alerts.noMail

/** Why no e-mail is sent. Only operators can change that, so only they see the settings. */
export function NoMail() {
  const isOperator = useMay('operator')
  return (
    <Notice tone="warn" title={texts.title} role="status">
      <p>
        {isOperator
          ? texts.settings(
              <code>SMTP_URL</code>,
              <code>smtps://user:password@mail.example.com</code>,
              <code>SMTP_FROM</code>,
            )
          : texts.ask}
      </p>
    </Notice>
  )
}
