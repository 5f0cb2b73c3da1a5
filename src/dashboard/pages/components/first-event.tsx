import { Building2 } from 'lucide-preact'
import { Link } from 'wouter-preact'
import { CodeLine } from '../design/code.tsx'
import { EmptyState } from '../design/notice.tsx'
import { ingestLine } from '../lib/ingest-line.ts'
import { useSession } from '../lib/session.ts'

/** The next step for a tenant without events. */
export function FirstEvent({ tenant, title }: { readonly tenant: string; readonly title: string }) {
  const { api_url } = useSession()
  return (
    <EmptyState icon={Building2} title={title}>
      <p>
        <Link href={`/t/${tenant}/settings`}>Make an API key</Link> and send events from your site, or{' '}
        <Link href={`/t/${tenant}/uploads`}>upload a file</Link>. Companies appear here within seconds. With your key in
        place of YOUR_KEY, this sends an event of Apple:
      </p>
      <CodeLine text={ingestLine(api_url, 'YOUR_KEY')} label="Command that sends an event" />
    </EmptyState>
  )
}
