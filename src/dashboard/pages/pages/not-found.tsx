import { Link } from 'wouter-preact'
import { Empty } from '../components/notes.tsx'

/** A path that leads nowhere. */
export function NotFound() {
  return (
    <Empty title="There is no such page">
      <p>
        <Link href="/">Back to the start</Link>
      </p>
    </Empty>
  )
}
