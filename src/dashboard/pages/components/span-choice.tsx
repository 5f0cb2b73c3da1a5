interface SpanChoiceProps {
  /** In days. */
  readonly spans: readonly string[]
  readonly days: string
  readonly onChange: (days: string) => void
}

/** Chooses the number of days that a page shows. */
export function SpanChoice({ spans, days, onChange }: SpanChoiceProps) {
  return (
    <label class="field">
      <span>Span</span>
      <select value={days} onChange={(event) => onChange(event.currentTarget.value)}>
        {spans.map((span) => (
          <option key={span} value={span}>
            {span} days
          </option>
        ))}
      </select>
    </label>
  )
}
