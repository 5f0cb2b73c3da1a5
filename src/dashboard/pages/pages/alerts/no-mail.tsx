import { Notice } from '../../design/notice.tsx'

/** What an operator does so that ipid sends e-mail. */
export function NoMail() {
  return (
    <Notice tone="warn" title="This ipid cannot send e-mail yet" role="status">
      <p>
        An operator sets <code>SMTP_URL</code>, such as <code>smtps://user:password@mail.example.com</code>, and{' '}
        <code>SMTP_FROM</code>, and restarts ipid.
      </p>
    </Notice>
  )
}
