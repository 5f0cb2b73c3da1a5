import { useState } from 'preact/hooks'
import type { RulesBody } from '../../../../../schemas/dashboard/rules.ts'
import { isHiding, KEPT_CLASSES, type RuleKind } from '../../../../../schemas/tenant-rules.ts'
import { PastChoice } from '../../components/past-choice.tsx'
import { Button } from '../../design/button.tsx'
import { FieldError, Select, TextInput } from '../../design/field.tsx'
import { Grow, Row, Stack } from '../../design/layout.tsx'
import { Card } from '../../design/page.tsx'
import { type PastChoice as Choice, pastOf } from '../../lib/past-jobs.ts'
import { useAction } from '../../lib/use-action.ts'
import { TEXTS } from '../../texts/texts.ts'
import { DryRun } from './dry-run.tsx'
import { RULE_KIND_NAMES } from './rule-names.ts'

const texts = TEXTS.settings.addRule

const EXAMPLES: Readonly<Record<RuleKind, string>> = {
  own: '203.0.113.0/24',
  is: '203.0.113.0/24 example.com',
  'never-noise': 'example.com, AS64500 or 203.0.113.0/24',
  'always-noise': 'example.com, AS64500 or 203.0.113.0/24',
  keep: '',
}

const SUBJECT_NAMES: Readonly<Record<RuleKind, string>> = {
  own: texts.subjects.network,
  is: texts.subjects.is,
  'never-noise': texts.subjects.organisation,
  'always-noise': texts.subjects.organisation,
  keep: texts.subjects.type,
}

/** A rule that makes noise hides stored visits too. */
const pastFor = (kind: RuleKind): Choice => (isHiding(`${kind} `) ? 'all' : 'none')

/** Adds a rule, with an optional dry run. */
export function AddRule({
  path,
  change,
}: {
  readonly path: string
  readonly change: (body: RulesBody) => Promise<void>
}) {
  const [kind, setKind] = useState<RuleKind>('own')
  const [subject, setSubject] = useState('')
  const [past, setPast] = useState<Choice>(pastFor('own'))
  const adding = useAction()
  const span = pastOf(past)
  const body = { add: { kind, subject }, ...(span && { past: span }) }
  const submit = () =>
    adding.run(async () => {
      await change(body)
      setSubject('')
    })
  const choose = (next: RuleKind) => {
    setKind(next)
    setPast(pastFor(next))
    setSubject(next === 'keep' ? KEPT_CLASSES[0]! : kind === 'keep' ? '' : subject)
    adding.reset()
  }
  return (
    <Card title={texts.title}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <Stack>
          <Row align="end">
            <Select
              label={texts.rule}
              value={kind}
              options={Object.entries(RULE_KIND_NAMES).map(([value, label]) => ({ value, label }))}
              onChange={(next) => choose(next as RuleKind)}
            />
            <Grow>
              {kind === 'keep' ? (
                <Select
                  label={SUBJECT_NAMES[kind]}
                  value={subject}
                  options={KEPT_CLASSES.map((name) => ({ value: name, label: name }))}
                  onChange={setSubject}
                />
              ) : (
                <TextInput
                  label={SUBJECT_NAMES[kind]}
                  required
                  maxLength={500}
                  autocomplete="off"
                  spellcheck={false}
                  placeholder={EXAMPLES[kind]}
                  value={subject}
                  onInput={setSubject}
                />
              )}
            </Grow>
            <PastChoice value={past} onChange={setPast} />
            <Button type="submit" variant="primary" disabled={adding.isBusy}>
              {texts.add}
            </Button>
          </Row>
          <FieldError error={adding.error} />
          <DryRun key={`${kind} ${subject} ${past}`} path={path} body={body} isEnabled={subject.trim() !== ''} />
        </Stack>
      </form>
    </Card>
  )
}
