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
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.sampleData

/** On every page that shows sample data: says so, and leads back. */
export function SampleBanner() {
  const isAdmin = useIsAdmin()
  const sample = useSample()
  const removing = useRemoval(sample)
  return (
    <div class="ui-sample">
      <Notice tone="warn" title={TEXTS.words.states.sampleData}>
        <p>{texts.madeUp}</p>
        <FieldError error={removing.error} />
        {sample.own !== undefined && (
          <Row gap={2}>
            <Button size="s" icon={Undo2} onClick={sample.toggle}>
              {texts.back(sample.own)}
            </Button>
            {isAdmin && (
              <Button size="s" variant="quiet" disabled={removing.isBusy} onClick={removing.remove}>
                {texts.remove}
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
        {adding.isBusy ? texts.making : texts.lookAround}
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
      title={TEXTS.words.states.sampleData}
      description={texts.about}
      actions={
        <>
          <SampleButton tenant={tenant} />
          {sample.isThere && (
            <Button disabled={removing.isBusy} onClick={removing.remove}>
              {texts.remove}
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
      toast({ text: texts.removed })
    })
  return { isBusy, error, remove }
}
