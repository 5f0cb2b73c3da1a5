import './pulse.css'
import type { ComponentChildren } from 'preact'

interface PulseProps {
  /** `waiting` pulses. */
  readonly state: 'waiting' | 'good' | 'bad' | 'idle'
  readonly children: ComponentChildren
}

/** A state that changes by itself, with a dot. Screen readers hear the words when they change. */
export function Pulse({ state, children }: PulseProps) {
  return (
    <div class={`ui-pulse is-${state}`} role="status">
      <span>{children}</span>
    </div>
  )
}
