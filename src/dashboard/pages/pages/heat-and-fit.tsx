import { Page } from '../design/page.tsx'
import type { PageProps } from '../lib/page-props.ts'
import { FitSigns } from './heat-and-fit/fit-signs.tsx'
import { HeatPoints } from './heat-and-fit/heat-points.tsx'

/** What heat weighs, and which companies are good ones. Both show their effect before they are saved. */
export function HeatAndFit({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  return (
    <Page
      key={tenant}
      title="Heat and fit"
      description="Heat says how interested a company is. Fit says whether it is a company that you want."
      back={{ href: `/t/${tenant}/settings`, label: 'Settings' }}
    >
      <FitSigns tenant={tenant} />
      <HeatPoints tenant={tenant} />
    </Page>
  )
}
