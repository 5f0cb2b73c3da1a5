import { startChild } from '../run/child.ts'
import type { Loaded, LoadSpec } from './loader.ts'

/** Loads with our own process: without wrk, or for a fixed rate, which wrk does not support. */
export async function ownLoad(spec: LoadSpec, signal: AbortSignal): Promise<Loaded> {
  signal.throwIfAborted()
  const child = startChild<Loaded>('loader/own-process.ts', spec)
  const abort = () => void child.stop()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await child.said
  } finally {
    signal.removeEventListener('abort', abort)
    await child.stop()
  }
}
