import './sample-data.css'
import { FlaskConical, Undo2 } from 'lucide-preact'
import { isAtLeast } from '../../../../schemas/dashboard/roles.ts'
import { Button } from '../design/button.tsx'
import { FieldError } from '../design/field.tsx'
import { Row } from '../design/layout.tsx'
import { Notice } from '../design/notice.tsx'
import { Section } from '../design/page.tsx'
import { toast } from '../design/toast.tsx'
import { useSample } from '../lib/sample.ts'
import { useSession } from '../lib/session.ts'
import { useAction } from '../lib/use-action.ts'

/** On every page that shows sample data: says so, and leads back. */
export function SampleBanner() {
  const isAdmin = useIsAdmin()
  const sample = useSample()
  const removing = useRemoval(sample)
  return (
    <div class="ui-sample">
      <Notice tone="warn" title="Sample data">
        <p>
          These companies are real, and their visits are made up. Nothing here counts for your plan, alerts or exports,
          and nothing can be changed.
        </p>
        <FieldError error={removing.error} />
        {sample.own !== undefined && (
          <Row gap={2}>
            <Button size="s" icon={Undo2} onClick={sample.toggle}>
              Back to {sample.own}
            </Button>
            {isAdmin && (
              <Button size="s" variant="quiet" disabled={removing.isBusy} onClick={removing.remove}>
                Remove sample data
              </Button>
            )}
          </Row>
        )}
      </Notice>
    </div>
  )
}

/** Shows sample data, which an admin has to add first. */
export function SampleButton({ tenant }: { readonly tenant: string }) {
  const isAdmin = useIsAdmin()
  const sample = useSample()
  const adding = useAction()
  if (!isAdmin && !sample.isThere) return null
  const show = () =>
    adding.run(async () => {
      if (isAdmin) await sample.add(tenant)
      else sample.toggle()
    })
  return (
    <>
      <Button icon={FlaskConical} disabled={adding.isBusy} onClick={show}>
        {adding.isBusy ? 'Making sample data…' : 'Look around with sample data'}
      </Button>
      <FieldError error={adding.error} />
    </>
  )
}

/** In Settings: adds sample data to a workspace, or takes them away. */
export function SampleSection({ tenant }: { readonly tenant: string }) {
  const sample = useSample()
  const removing = useRemoval(sample)
  return (
    <Section
      title="Sample data"
      description="Made-up visits, to look around. They are kept apart from your own, and count for nothing."
      actions={
        <>
          <SampleButton tenant={tenant} />
          {sample.isThere && (
            <Button disabled={removing.isBusy} onClick={removing.remove}>
              Remove sample data
            </Button>
          )}
        </>
      }
    >
      <FieldError error={removing.error} />
    </Section>
  )
}

/** Whether the user is an admin, also on pages of sample data, where the role is that of a viewer. */
function useIsAdmin(): boolean {
  return isAtLeast(useSession().role, 'admin')
}

function useRemoval(sample: ReturnType<typeof useSample>) {
  const { isBusy, error, run } = useAction()
  const remove = () =>
    run(async () => {
      await sample.remove()
      toast({ text: 'The sample data are removed.' })
    })
  return { isBusy, error, remove }
}
