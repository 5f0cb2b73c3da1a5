import './toast.css'
import { X } from 'lucide-preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { TEXTS } from '../texts/texts.ts'
import { Icon } from './icon.tsx'

const texts = TEXTS.design.toast

/** The content of a toast. */
interface ToastText {
  /** Reports the action in one sentence. */
  readonly text: string
  readonly tone?: 'bad'
  /** Undoes the action. The toast reports a failure. */
  readonly undo?: () => Promise<void> | void
}

interface Shown extends ToastText {
  readonly id: number
}

const SHOWN_MS = 8_000
const MAX = 4

let shown: readonly Shown[] = []
let next = 0
let listener: (() => void) | undefined

/** Reports an action for 8 s, with a button to undo it. It stays while the pointer or the focus is on it. */
export function toast(text: ToastText): void {
  set([...shown.slice(1 - MAX), { ...text, id: next++ }])
}

function dismiss(id: number): void {
  set(shown.filter((each) => each.id !== id))
}

function set(all: readonly Shown[]): void {
  shown = all
  listener?.()
}

/** The place of all toasts. The shell has it once. */
export function Toasts() {
  const [, setTurn] = useState(0)
  const [isHeld, setHeld] = useState(false)
  const list = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    listener = () => setTurn((turn) => turn + 1)
    return () => {
      listener = undefined
    }
  }, [])
  const last = shown.at(-1)?.id
  useLayoutEffect(() => {
    // Shown again, it is above a dialog that opened since.
    list.current!.hidePopover()
    if (last !== undefined) list.current!.showPopover()
    else setHeld(false)
  }, [last])
  return (
    <div
      ref={list}
      class="ui-toasts"
      popover="manual"
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocusIn={() => setHeld(true)}
      onFocusOut={() => setHeld(false)}
    >
      {shown.map((each) => (
        <Toast key={each.id} {...each} isHeld={isHeld} />
      ))}
    </div>
  )
}

function Toast({ id, text, tone, undo, isHeld }: Shown & { readonly isHeld: boolean }) {
  const [isBusy, setBusy] = useState(false)
  useEffect(() => {
    if (isHeld || isBusy) return
    const timer = setTimeout(() => dismiss(id), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [isHeld, isBusy])
  const takeBack = async () => {
    setBusy(true)
    try {
      await undo!()
    } catch (error) {
      toast({ text: texts.notUndone((error as Error).message), tone: 'bad' })
    }
    dismiss(id)
  }
  return (
    <div class={tone === 'bad' ? 'ui-toast is-bad' : 'ui-toast'} role={tone === 'bad' ? 'alert' : 'status'}>
      <p>{text}</p>
      {undo && (
        <button type="button" disabled={isBusy} onClick={takeBack}>
          {texts.undo}
        </button>
      )}
      <button type="button" aria-label={texts.dismiss} onClick={() => dismiss(id)}>
        <Icon of={X} />
      </button>
    </div>
  )
}
