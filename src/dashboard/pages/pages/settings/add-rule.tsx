import { useState } from 'preact/hooks'
import type { RulesBody } from '../../../../../schemas/dashboard/rules.ts'
import { KEPT_CLASSES, type RuleKind } from '../../../../../schemas/tenant-rules.ts'
import { FieldError } from '../../components/field-error.tsx'
import { useAction } from '../../lib/use-action.ts'
import { DryRun } from './dry-run.tsx'
import { RULE_KIND_NAMES } from './rule-names.ts'

const EXAMPLES: Readonly<Record<RuleKind, string>> = {
  own: '203.0.113.0/24',
  is: '203.0.113.0/24 example.com',
  'never-noise': 'example.com, AS64500 or 203.0.113.0/24',
  'always-noise': 'example.com, AS64500 or 203.0.113.0/24',
  keep: '',
}

const SUBJECT_NAMES: Readonly<Record<RuleKind, string>> = {
  own: 'Network',
  is: 'Network, domain and perhaps a name',
  'never-noise': 'Network, AS or organisation',
  'always-noise': 'Network, AS or organisation',
  keep: 'Class',
}

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
  const adding = useAction()
  const body = { add: { kind, subject } }
  const submit = () =>
    adding.run(async () => {
      await change(body)
      setSubject('')
    })
  const choose = (next: RuleKind) => {
    setKind(next)
    setSubject(next === 'keep' ? KEPT_CLASSES[0]! : kind === 'keep' ? '' : subject)
    adding.reset()
  }
  const described = { id: 'rule-subject', 'aria-describedby': 'rule-error', 'aria-invalid': adding.error !== undefined }
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <h3>Add a rule</h3>
      <div class="row">
        <label class="field">
          <span>Rule</span>
          <select value={kind} onChange={(event) => choose(event.currentTarget.value as RuleKind)}>
            {Object.entries(RULE_KIND_NAMES).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <div class="field grow">
          <label for="rule-subject">{SUBJECT_NAMES[kind]}</label>
          {kind === 'keep' ? (
            <select {...described} value={subject} onChange={(event) => setSubject(event.currentTarget.value)}>
              {KEPT_CLASSES.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          ) : (
            <input
              {...described}
              required
              maxLength={500}
              autocomplete="off"
              spellcheck={false}
              placeholder={EXAMPLES[kind]}
              value={subject}
              onInput={(event) => setSubject(event.currentTarget.value)}
            />
          )}
        </div>
        <button type="submit" class="primary" disabled={adding.isBusy}>
          Add rule
        </button>
      </div>
      <FieldError id="rule-error" error={adding.error} />
      <DryRun key={`${kind} ${subject}`} path={path} body={body} isEnabled={subject.trim() !== ''} />
    </form>
  )
}
