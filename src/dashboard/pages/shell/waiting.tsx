import './shell.css'
import './sidebar.css'
import './waiting.css'
import { Page } from '../design/page.tsx'
import { Loading, Skeleton } from '../design/skeleton.tsx'
import { Logo } from './logo.tsx'

/** The frame while the session is not known yet: the same shapes, so that nothing jumps. */
export function WaitingShell() {
  return (
    <div class="ui-shell">
      <aside class="ui-sidebar">
        <div class="ui-sidebar-head">
          <span class="ui-brand">
            <Logo />
            ipid
          </span>
        </div>
        <Skeleton height="38px" />
        <div class="ui-waiting">
          {[60, 75, 50, 65, 70, 55, 72].map((percent, i) => (
            <Skeleton key={i} width={`${percent}%`} height="20px" />
          ))}
        </div>
      </aside>
      <main class="ui-main">
        <Page title={<Skeleton width="12rem" height="1.3em" />}>
          <Loading rows={6} rowHeight={28} />
        </Page>
      </main>
    </div>
  )
}
