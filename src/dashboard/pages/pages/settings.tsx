import type { PageProps } from '../lib/page-props.ts'
import { Keys } from './settings/keys.tsx'
import { Plan } from './settings/plan.tsx'
import { Rules } from './settings/rules.tsx'

/** Plan, keys and rules of a tenant. */
export function Settings({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  return (
    // The key makes sure that state of one tenant is never shown for another.
    <div key={tenant} class="settings">
      <h1>Settings of {tenant}</h1>
      <Plan tenant={tenant} />
      <Keys tenant={tenant} />
      <Rules tenant={tenant} />
    </div>
  )
}
