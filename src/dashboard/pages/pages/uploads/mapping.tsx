import type { UploadPreview } from '../../../../../schemas/dashboard/uploads.ts'
import { Fieldset, Select } from '../../design/field.tsx'
import { Grid, Text } from '../../design/layout.tsx'

type Map = Readonly<Record<string, string>>

/** The mapping to send. For NDJSON only changes, so that all other fields stay exactly as they are. */
export function mapOf({ format, columns }: UploadPreview): Map {
  const sent = columns.filter(({ name, key }) => format === 'csv' || name !== key)
  return Object.fromEntries(sent.map(({ name, key }) => [name, key]))
}

const LABELS: Readonly<Record<string, string>> = {
  ip: 'IP address (ip)',
  event_id: 'Id that no other event has (event_id)',
  timestamp: 'Time (timestamp)',
  event_type: 'Kind of event (event_type)',
  account_id: 'Your account (account_id)',
  session_id: 'Session, a number (session_id)',
  platform: 'Platform (platform)',
  properties: 'JSON of the event (properties)',
  user_properties: 'JSON of the user (user_properties)',
}

interface MappingProps {
  readonly preview: UploadPreview
  readonly onChange: (map: Map) => void
}

/** Chooses the field of each column. */
export function Mapping({ preview, onChange }: MappingProps) {
  const { columns, keys, format } = preview
  const change = (name: string, key: string) => {
    const next = columns.map((column) => {
      if (column.name === name) return { ...column, key }
      // Only one column may have a field: the other one gets its own name back, if it has one.
      const isTaken = column.key === key && keys.includes(key)
      return isTaken ? { ...column, key: keys.includes(column.name) ? '' : column.name } : column
    })
    onChange(mapOf({ ...preview, columns: next }))
  }
  if (columns.length === 0) return null
  return (
    <Fieldset legend={format === 'csv' ? 'Columns of the file' : 'Keys of the file'}>
      <Grid gap={3} min={230}>
        {columns.map(({ name, key, example }, i) => (
          <Select
            key={`${i} ${name}`}
            label={name}
            hint={
              <Text as="span" isCut>
                <code>{example === '' ? '(empty)' : example}</code>
              </Text>
            }
            value={key}
            options={[
              ...(keys.includes(name) ? [] : [{ value: name, label: `Keep as “${name}”` }]),
              ...(keys.includes(key) || key === name || key === '' ? [] : [{ value: key, label: `Keep as “${key}”` }]),
              ...keys.map((known) => ({ value: known, label: LABELS[known] ?? known })),
              { value: '', label: 'Leave out' },
            ]}
            onChange={(next) => change(name, next)}
          />
        ))}
      </Grid>
    </Fieldset>
  )
}
