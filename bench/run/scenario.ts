import type { Loaded, LoadSpec } from '../loader/loader.ts'
import type { Options } from './options.ts'
import type { Product } from './product.ts'
import type { Releases } from './releases.ts'

/** Results of a run, by name and unit: `events/s`, `p99 ms`. A figure that could not be measured is absent. */
export type Figures = Record<string, number>

/** A value to compare with a figure of the product, measured in the same run. */
export interface Bound {
  readonly name: string
  /** The product's figure in the same unit. */
  readonly figure: string
  readonly value: number
}

/** The environment of a run. */
export interface Stage {
  /** New, and idle at the start of the scenario. */
  readonly product: Product
  readonly options: Options
  /** Resources of the run. */
  readonly releases: Releases
  /** Prefix of the event ids of this run. */
  readonly tag: string
  /** Seconds of a measured load: the option of the command line, or the default. */
  seconds(otherwise: number): number
  /** The given seconds, or the option of the command line if it is less. */
  atMostSeconds(most: number): number
  connections(otherwise: number): number
  load(spec: LoadSpec): Promise<Loaded>
  /** Prints progress. */
  say(text: string): void
}

export interface Scenario {
  readonly name: string
  readonly summary: string
  /** Settings of the product. */
  readonly settings?: Readonly<Record<string, string>>
  run(stage: Stage): Promise<Figures>
  /** Called after `run` on the same stage. @param figures the result of `run` */
  bounds?(stage: Stage, figures: Figures): Promise<readonly Bound[]>
}
