import './sidebar.css'
import { ChevronsUpDown, ListFilter, LogOut, Search, UserRound, X } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { useSearch } from 'wouter-preact/use-browser-location'
import { Avatar } from '../design/avatar.tsx'
import { Button, IconButton } from '../design/button.tsx'
import { Checkbox, TextInput } from '../design/field.tsx'
import { Icon } from '../design/icon.tsx'
import { Hidden, Text } from '../design/layout.tsx'
import { Choice, Popover } from '../design/popover.tsx'
import { changeHeaders } from '../lib/api.ts'
import { samePage, useSample } from '../lib/sample.ts'
import { segmentPath } from '../lib/segment-view.ts'
import { useSegments } from '../lib/segments.ts'
import { useSession } from '../lib/session.ts'
import { useVisiblePages } from '../lib/visible-pages.ts'
import { NAV_GROUPS } from '../pages.tsx'
import { TEXTS } from '../texts/texts.ts'
import { JUMP_KEYS, openJump } from './jump.tsx'
import { Logo } from './logo.tsx'
import { NavGroup, NavLink, NavSubLinks } from './nav.tsx'

const texts = TEXTS.shell.sidebar

/** The page with segments below its link. */
const COMPANIES = '/t/:tenant/companies'

interface SidebarProps {
  /** Undefined: there is none yet. */
  readonly tenant: string | undefined
  /** On a small screen, where it is a drawer. */
  readonly isOpen: boolean
  readonly onClose: () => void
}

/** Navigation, choice of the tenant, and the signed-in user. */
export function Sidebar({ tenant, isOpen, onClose }: SidebarProps) {
  const { role, name, version, tenants } = useSession()
  const [location] = useLocation()
  const isList = location === COMPANIES.replace(':tenant', tenant ?? '')
  const segment = new URLSearchParams(useSearch()).get('segment')
  const visible = useVisiblePages(tenant)
  return (
    <aside id="sidebar" class={isOpen ? 'ui-sidebar is-open' : 'ui-sidebar'}>
      <div class="ui-sidebar-head">
        <Link href="/" class="ui-brand">
          <Logo />
          ipid
        </Link>
        <span class="ui-sidebar-close">
          <IconButton icon={X} label={texts.close} onClick={onClose} />
        </span>
      </div>
      {tenant !== undefined && <TenantSwitcher tenant={tenant} onDone={onClose} />}
      <SampleSwitch />
      <button
        type="button"
        class="ui-jump"
        onClick={() => {
          onClose()
          openJump()
        }}
      >
        <Icon of={Search} />
        <span>{texts.goTo}</span>
        <kbd>{JUMP_KEYS}</kbd>
      </button>
      {/* Captured: the page gets the focus from its link only after the drawer has released it. */}
      <nav
        class="ui-nav"
        aria-label={texts.pages}
        onClickCapture={({ target }) => (target as Element).closest('a') && onClose()}
      >
        {NAV_GROUPS.map(({ name, title }) => {
          const entries = visible.filter(({ nav }) => nav?.group === name)
          if (entries.length === 0) return null
          return (
            <NavGroup key={name} title={title}>
              {entries.map(({ path, nav }) => {
                const href = path.replace(':tenant', tenant ?? '')
                return (
                  <NavLink
                    key={path}
                    href={href}
                    icon={nav!.icon}
                    label={nav!.label}
                    isCurrent={
                      (location === href || location.startsWith(`${href}/`)) &&
                      !(path === COMPANIES && isList && segment !== null)
                    }
                  >
                    {path === COMPANIES && tenant !== undefined && (
                      <SegmentLinks tenant={tenant} current={isList ? segment : null} />
                    )}
                  </NavLink>
                )
              })}
            </NavGroup>
          )
        })}
      </nav>
      <div class="ui-signed">
        <Icon of={UserRound} />
        <div>
          <p>{name ?? TEXTS.words.roles[role]}</p>
          <p>
            {texts.signedIn(
              role === 'operator' ? texts.allWorkspaces : name === null ? tenants[0]! : texts.roleOf[role](tenants[0]!),
              version,
            )}
          </p>
        </div>
        <IconButton icon={LogOut} label={texts.signOut} onClick={signOut} />
      </div>
    </aside>
  )
}

const SEARCHED_FROM = 8
const SHOWN_MAX = 50

/** Switches every page between the workspace and sample data, where there are some. */
function SampleSwitch() {
  const { isThere, isOn, toggle } = useSample()
  if (!isThere) return null
  return (
    <div class="ui-sample-switch">
      <Checkbox label={texts.showSample} isChecked={isOn} onChange={toggle} />
    </div>
  )
}

/** Shows another tenant: the same page of it, where there is one. */
function TenantSwitcher({ tenant, onDone }: { readonly tenant: string; readonly onDone: () => void }) {
  const { tenants, sample } = useSession()
  const shown = tenant === sample ? TEXTS.words.states.sampleData : tenant
  const [location, navigate] = useLocation()
  const change = (next: string) => {
    onDone()
    navigate(samePage(location, next))
  }
  return (
    <Popover
      label={texts.workspaces}
      trigger={({ buttonRef, ...props }) => (
        <button type="button" ref={buttonRef} class="ui-tenant" {...props}>
          <Avatar name={shown} id={tenant} size={22} />
          <span>
            <Hidden>{texts.workspace} </Hidden>
            {shown}
          </span>
          <Icon of={ChevronsUpDown} size={14} />
        </button>
      )}
    >
      {(close) => (
        <TenantList
          tenants={tenants}
          tenant={tenant}
          onChoose={(next) => {
            close()
            change(next)
          }}
        />
      )}
    </Popover>
  )
}

interface TenantListProps {
  readonly tenants: readonly string[]
  readonly tenant: string
  readonly onChoose: (tenant: string) => void
}

function TenantList({ tenants, tenant, onChoose }: TenantListProps) {
  const [text, setText] = useState('')
  const found = tenants.filter((id) => id.includes(text.trim().toLowerCase()))
  return (
    <>
      {tenants.length >= SEARCHED_FROM && (
        <TextInput type="search" label={texts.find} isLabelHidden isSmall value={text} onInput={setText} />
      )}
      {found.slice(0, SHOWN_MAX).map((id) => (
        <Choice key={id} label={id} isChosen={id === tenant} onChoose={() => onChoose(id)} />
      ))}
      {found.length === 0 && (
        <Text tone="soft" isSmall>
          {texts.noMatch}
        </Text>
      )}
      {found.length > SHOWN_MAX && (
        <Text tone="soft" isSmall>
          {texts.more(found.length - SHOWN_MAX)}
        </Text>
      )}
    </>
  )
}

async function signOut(): Promise<void> {
  await fetch('/sign-out', { method: 'POST', headers: changeHeaders() }).catch(() => {})
  window.location.assign('/')
}

const SEGMENTS_SHOWN_MAX = 8

interface SegmentLinksProps {
  readonly tenant: string
  /** Id of the segment that the list of companies shows, or null. */
  readonly current: string | null
}

/** Saved segments: each opens the list of companies with its filter. */
function SegmentLinks({ tenant, current }: SegmentLinksProps) {
  const { segments = [] } = useSegments()
  const [isAll, setAll] = useState(false)
  if (segments.length === 0) return null
  const shown = isAll ? segments : segments.slice(0, SEGMENTS_SHOWN_MAX)
  return (
    <NavSubLinks label={texts.segments}>
      {shown.map((segment) => (
        <NavLink
          key={segment.segment_id}
          href={segmentPath(tenant, segment)}
          icon={ListFilter}
          label={segment.name}
          isCurrent={segment.segment_id === current}
        />
      ))}
      {segments.length > SEGMENTS_SHOWN_MAX && (
        <li>
          <Button size="s" variant="quiet" onClick={() => setAll(!isAll)}>
            {isAll ? texts.fewer : texts.all(segments.length)}
          </Button>
        </li>
      )}
    </NavSubLinks>
  )
}
