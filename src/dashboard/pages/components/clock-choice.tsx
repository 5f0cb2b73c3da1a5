/** The day that counts: that of receipt, or that of the event's timestamp. */
export type DayClock = 'received' | 'event'

const LABELS: Readonly<Record<DayClock, string>> = { received: 'Day received', event: 'Day of the event' }

interface ClockChoiceProps {
  readonly clock: DayClock
  readonly onChange: (clock: DayClock) => void
}

/** Chooses between time of receipt and timestamp. */
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

/** Explains the days of a chart or table. */
export function dayTitle(clock: DayClock): string {
  return `${LABELS[clock]} (UTC)`
}
