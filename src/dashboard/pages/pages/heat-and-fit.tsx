import { Text } from '../design/layout.tsx'
import { FitSigns } from './heat-and-fit/fit-signs.tsx'
import { HeatPoints } from './heat-and-fit/heat-points.tsx'

/** What heat weighs, and which companies are good ones. Both show their effect before they are saved. */
export function HeatAndFit({ tenant }: { readonly tenant: string }) {
  return (
    <>
      <Text tone="soft">Heat says how interested a company is. Fit says whether it is a company that you want.</Text>
      <FitSigns tenant={tenant} />
      <HeatPoints tenant={tenant} />
    </>
  )
}
