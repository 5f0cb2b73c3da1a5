/** By which day events are counted: when they were received, or when they happened. */
export type DayClock = 'received' | 'event'

const LABELS: Readonly<Record<DayClock, string>> = { received: 'Day received', event: 'Day of the event' }

interface ClockChoiceProps {
  readonly clock: DayClock
  readonly onChange: (clock: DayClock) => void
}

/** The choice between the two clocks of an event. */
export function ClockChoice({ clock, onChange }: ClockChoiceProps) {
  return (
    <label class="field">
      <span>Count events by</span>
      <select value={clock} onChange={(event) => onChange(event.currentTarget.value as DayClock)}>
        {Object.entries(LABELS).map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  )
}

/** What a day of a chart or a table means. */
export function dayTitle(clock: DayClock): string {
  return `${LABELS[clock]} (UTC)`
}
