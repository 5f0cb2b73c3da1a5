import { useState } from 'preact/hooks'
import { ownZone } from '../../../../run/time-zone.ts'
import { TimeZoneInput } from '../../components/time-zone.tsx'
import { Button } from '../../design/button.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Section } from '../../design/page.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import { useMay } from '../../lib/may.ts'
import { useSession } from '../../lib/session.ts'
import { useAction } from '../../lib/use-action.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.settings.timeZone

/** The zone of the days of a workspace. */
export function TimeZone({ tenant }: { readonly tenant: string }) {
  const isAdmin = useMay('admin')
  const session = useSession()
  const current = session.time_zones[tenant] ?? 'UTC'
  const [zone, setZone] = useState(current)
  const saving = useAction()
  const own = ownZone()
  const save = () =>
    saving.run(async () => {
      await post(`/api/tenants/${tenant}/time-zone`, { time_zone: zone })
      session.reload()
      toast({ text: texts.changed(zone) })
    })
  return (
    <Section title={texts.title} description={texts.about}>
      {isAdmin ? (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            save()
          }}
        >
          <Stack gap={2}>
            <TimeZoneInput value={zone} error={saving.error} onInput={setZone} />
            <Row gap={2}>
              <Button type="submit" disabled={saving.isBusy || zone === current}>
                {texts.save}
              </Button>
              {zone !== own && (
                <Button variant="quiet" onClick={() => setZone(own)}>
                  {texts.take(own)}
                </Button>
              )}
            </Row>
          </Stack>
        </form>
      ) : (
        <Text>{current}</Text>
      )}
    </Section>
  )
}
