/* Owners and access lists of files on Windows (contracts in trusted_file.h and trusted_owner.h).
 *
 * The user, the system and the administrators are trusted: the latter two may write to each file anyway. */
#include "base/file_target.h"
#include "base/system_file.h"
#include "base/trusted_file.h"
#include "base/trusted_owner.h"
#include "base/wide_path.h"

#include <aclapi.h>
#include <errno.h>
#include <io.h>
#include <stdlib.h>

/* With one of these rights one can change the file, or give oneself the right to. */
enum { WRITING = FILE_WRITE_DATA | FILE_APPEND_DATA | WRITE_DAC | WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL };

typedef struct sid {
    union {
        SID sid;
        BYTE bytes[SECURITY_MAX_SID_SIZE];
    } of;
} sid;

/* The user of this process. */
static bool find_user(sid *user) {
    union {
        TOKEN_USER user;
        BYTE bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    } found;
    HANDLE token;
    DWORD bytes;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) return wi_set_errno();
    const bool known = GetTokenInformation(token, TokenUser, &found, sizeof found, &bytes) &&
                       CopySid(sizeof user->of, &user->of, found.user.User.Sid);
    if (!known) wi_set_errno();
    CloseHandle(token);
    return known;
}

static bool is_trusted(PSID id, const sid *user) {
    return EqualSid(id, (PSID)(uintptr_t)&user->of) || IsWellKnownSid(id, WinLocalSystemSid) ||
           IsWellKnownSid(id, WinBuiltinAdministratorsSid) || IsWellKnownSid(id, WinCreatorOwnerSid) ||
           IsWellKnownSid(id, WinCreatorOwnerRightsSid);
}

/* Whether somebody else may write. A missing list gives everybody all rights. */
static bool others_may_write(ACL *list, const sid *user) {
    if (!list) return true;
    for (DWORD i = 0; i < list->AceCount; i++) {
        ACCESS_ALLOWED_ACE *entry = NULL;
        if (!GetAce(list, i, (void **)&entry) || entry->Header.AceType != ACCESS_ALLOWED_ACE_TYPE) continue;
        if (entry->Header.AceFlags & INHERIT_ONLY_ACE) continue;
        if (entry->Mask & (DWORD)WRITING && !is_trusted(&entry->SidStart, user)) return true;
    }
    return false;
}

typedef enum finding { OWN, OTHERS_FILE, OTHERS_WRITE, UNKNOWN } finding;

static finding look_at_rights(HANDLE file) {
    sid user;
    PSID owner = NULL;
    ACL *list = NULL;
    PSECURITY_DESCRIPTOR descriptor = NULL;
    if (!find_user(&user)) return UNKNOWN;
    const DWORD error = GetSecurityInfo(file, SE_FILE_OBJECT,
        OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &owner, NULL, &list, NULL, &descriptor);
    if (error != ERROR_SUCCESS) {
        SetLastError(error);
        wi_set_errno();
        return UNKNOWN;
    }
    const finding found = !is_trusted(owner, &user)       ? OTHERS_FILE
                          : others_may_write(list, &user) ? OTHERS_WRITE
                                                          : OWN;
    LocalFree(descriptor);
    return found;
}

static weft_status report(finding found, const char *path) {
    if (found == OTHERS_FILE) WI_FAIL(WEFT_ERROR_FILE, "'%s' belongs to another user", path);
    if (found == OTHERS_WRITE) WI_FAIL(WEFT_ERROR_FILE, "users other than the owner may write to '%s'", path);
    return found == OWN ? WEFT_OK : wi_file_fail("open", path, errno);
}

weft_status wi_trusted_check_opened(int file, const char *path) {
    return report(look_at_rights((HANDLE)_get_osfhandle(file)), path);
}

weft_status wi_trusted_file_check(const char *path, bool *unseen) {
    const int file = wi_open(path, WI_OPEN_READ), error = errno;
    if (unseen) *unseen = file < 0;
    if (file < 0) return wi_file_fail("open", path, error);
    const weft_status status = wi_trusted_check_opened(file, path);
    wi_close(file);
    return status;
}

bool wi_file_is_others(const char *path) {
    const int file = wi_open(path, WI_OPEN_READ);
    if (file < 0) return false;
    const finding found = look_at_rights((HANDLE)_get_osfhandle(file));
    wi_close(file);
    return found == OTHERS_FILE;
}

bool wi_private_rights_begin(wi_private_rights *rights) {
    sid user, system;
    DWORD bytes = sizeof system.of;
    *rights = (wi_private_rights){0};
    if (!find_user(&user)) return false;
    if (!CreateWellKnownSid(WinLocalSystemSid, NULL, &system.of, &bytes)) return wi_set_errno();
    const DWORD room = (DWORD)(sizeof(ACL) + 2 * (sizeof(ACCESS_ALLOWED_ACE) + SECURITY_MAX_SID_SIZE));
    rights->list = malloc(room);
    const DWORD inherited = CONTAINER_INHERIT_ACE | OBJECT_INHERIT_ACE;
    if (!rights->list || !InitializeAcl(rights->list, room, ACL_REVISION) ||
        !AddAccessAllowedAceEx(rights->list, ACL_REVISION, inherited, FILE_ALL_ACCESS, &user.of) ||
        !AddAccessAllowedAceEx(rights->list, ACL_REVISION, inherited, FILE_ALL_ACCESS, &system.of) ||
        !InitializeSecurityDescriptor(&rights->descriptor, SECURITY_DESCRIPTOR_REVISION) ||
        !SetSecurityDescriptorDacl(&rights->descriptor, TRUE, rights->list, FALSE) ||
        !SetSecurityDescriptorControl(&rights->descriptor, SE_DACL_PROTECTED, SE_DACL_PROTECTED)) {
        if (rights->list)
            wi_set_errno();
        else
            errno = ENOMEM;
        wi_private_rights_end(rights);
        return false;
    }
    rights->own = (SECURITY_ATTRIBUTES){sizeof rights->own, &rights->descriptor, FALSE};
    rights->attributes = &rights->own;
    return true;
}

void wi_private_rights_end(wi_private_rights *rights) {
    free(rights->list);
    rights->list = NULL;
}
