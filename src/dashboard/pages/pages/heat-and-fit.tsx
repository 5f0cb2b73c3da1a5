import { FitSigns } from './heat-and-fit/fit-signs.tsx'
import { HeatPoints } from './heat-and-fit/heat-points.tsx'

/** The signs of fit and the points of heat. Both show their effect before they are saved. */
export function HeatAndFit({ tenant }: { readonly tenant: string }) {
  return (
    <>
      <FitSigns tenant={tenant} />
      <HeatPoints tenant={tenant} />
    </>
  )
}
