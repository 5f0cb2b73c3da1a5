import type { Loaded, LoadSpec } from '../loader/loader.ts'
import type { Options } from './options.ts'
import type { Product } from './product.ts'
import type { Releases } from './releases.ts'

/** What a run measured, by name and unit: `events/s`, `p99 ms`. A figure that could not be had is absent. */
export type Figures = Record<string, number>

/** What stands beside a figure of the product, measured in the same run. */
export interface Bound {
  readonly name: string
  /** Of the product, in the same unit. */
  readonly figure: string
  readonly value: number
}

/** Where a scenario runs. */
export interface Stage {
  /** Fresh, and idle when the scenario begins. */
  readonly product: Product
  readonly options: Options
  /** Ends with the run. */
  readonly releases: Releases
  /** Begins the ids of events of this run. */
  readonly tag: string
  /** Seconds of a measured load: what the command line asks for, or else so many. */
  seconds(otherwise: number): number
  /** So many, or fewer when the command line asks for less. */
  atMostSeconds(most: number): number
  connections(otherwise: number): number
  load(spec: LoadSpec): Promise<Loaded>
  /** For people who wait. */
  say(text: string): void
}

export interface Scenario {
  readonly name: string
  readonly summary: string
  /** Of the product. */
  readonly settings?: Readonly<Record<string, string>>
  run(stage: Stage): Promise<Figures>
  /** Called behind `run`, on the same stage. @param figures what `run` returned */
  bounds?(stage: Stage, figures: Figures): Promise<readonly Bound[]>
}
