/* A stand-in for NVIDIA's libnvidia-ml.so.1: answers from a file, and lacks what the file lacks.
 *
 * Compiled against NVIDIA's own nvml.h (the wheel nvidia-nvml-dev), from which structures, signatures, versions and
 * error codes come; what a call returns when a buffer is too small is documented there, too. $FAKE_NVML is the file,
 * read again for every call. A line is an answer, "FUNCTION ARGUMENTS=CODE VALUE": a device is "0", a MIG instance
 * "0.2"; the code "hang" sleeps for a minute, "crash" ends the process. A call without a line is "function not found".
 * Every start is noted in "$FAKE_NVML.starts".
 */
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS 1000 /* a handle is 1 + index + SLOTS * (1 + slot of the MIG instance), 0 for the GPU itself */

static char answers[4 << 20], value[1 << 16];

/* For a minute; "hang PATH" says so first in a named pipe. */
static void hang(char *path)
{
    path[strcspn(path, "\n")] = 0;
    FILE *file = *path == ' ' ? fopen(path + 1, "w") : NULL;
    if (file != NULL) {
        fputs("hanging", file);
        fclose(file);
    }
    sleep(60);
}

/* The value of the answer to this call is in `value`. */
static nvmlReturn_t ask(const char *format, ...)
{
    char key[256] = "\n", *found;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(key + 1, sizeof key - 1, format, arguments);
    va_end(arguments);
    strcat(key, "=");
    FILE *file = fopen(getenv("FAKE_NVML"), "rb");
    if (file == NULL)
        return NVML_ERROR_UNKNOWN;
    answers[0] = '\n';
    answers[1 + fread(answers + 1, 1, sizeof answers - 2, file)] = 0;
    fclose(file);
    if ((found = strstr(answers, key)) == NULL)
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    found += strlen(key);
    if (strncmp(found, "hang", 4) == 0)
        hang(found + 4);
    if (strncmp(found, "crash", 5) == 0)
        abort();
    nvmlReturn_t code = (nvmlReturn_t)strtol(found, &found, 10);
    size_t length = strcspn(found + (*found == ' '), "\n");
    memcpy(value, found + (*found == ' '), length);
    value[length] = 0;
    return code;
}

static const char *name_of(nvmlDevice_t device)
{
    static char names[2][32]; /* of the two last devices */
    static int turn;
    uintptr_t handle = (uintptr_t)device - 1;
    char *name = names[turn = !turn];
    int end = sprintf(name, "%u", (unsigned)(handle % SLOTS));
    if (handle >= SLOTS)
        sprintf(name + end, ".%u", (unsigned)(handle / SLOTS - 1));
    return name;
}

/* NVML answers "insufficient size" for a longer text; this fills the buffer to its end, without a null character. */
static nvmlReturn_t text(nvmlReturn_t code, char *into, unsigned int length)
{
    if (code == NVML_SUCCESS)
        strncpy(into, value, length);
    return code;
}

static nvmlReturn_t number(nvmlReturn_t code, unsigned int *into)
{
    if (code == NVML_SUCCESS)
        *into = (unsigned int)strtoull(value, NULL, 10);
    return code;
}

static nvmlReturn_t two(nvmlReturn_t code, unsigned int *first, unsigned int *second)
{
    if (code == NVML_SUCCESS)
        sscanf(value, "%u %u", first, second);
    return code;
}

/* "BUS-ID LEGACY-BUS-ID DOMAIN BUS DEVICE"; "-" is an empty text. */
static nvmlReturn_t pci(nvmlReturn_t code, nvmlPciInfo_t *into)
{
    if (code != NVML_SUCCESS)
        return code;
    memset(into, 0, sizeof *into);
    sscanf(value, "%31s %15s %x %x %x", into->busId, into->busIdLegacy, &into->domain, &into->bus, &into->device);
    if (into->busId[0] == '-')
        into->busId[0] = 0;
    if (into->busIdLegacy[0] == '-')
        into->busIdLegacy[0] = 0;
    return code;
}

/* "COUNT PID:BYTES PID:BYTES ..."; a count that is more than what follows is a lie. */
static nvmlReturn_t processes(nvmlReturn_t code, unsigned int *count, nvmlProcessInfo_t *into)
{
    if (code != NVML_SUCCESS)
        return code;
    char *next = value;
    unsigned int room = into == NULL ? 0 : *count, listed = 0, said = (unsigned int)strtoull(value, &next, 10);
    for (; *next == ' '; listed++) {
        unsigned int pid = (unsigned int)strtoul(next, &next, 10);
        unsigned long long used = strtoull(next + 1, &next, 10);
        if (listed < room)
            into[listed] = (nvmlProcessInfo_t){pid, used, 0xFFFFFFFF, 0xFFFFFFFF};
    }
    *count = said;
    return said == 0 || (into != NULL && (room >= said || listed < said)) ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.starts", getenv("FAKE_NVML"));
    FILE *file = fopen(path, "a");
    if (file != NULL) {
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
    }
    (void)flags;
    return ask("nvmlInitWithFlags");
}

nvmlReturn_t nvmlShutdown(void) { return NVML_SUCCESS; }

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    return text(ask(__func__), version, length);
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
    return text(ask("%s %u", __func__, pid), name, length);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) { return number(ask(__func__), (unsigned int *)version); }

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) { return number(ask(__func__), (unsigned int *)version); }

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) { return number(ask(__func__), count); }

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    *device = (nvmlDevice_t)(uintptr_t)(1 + index);
    return ask("%s %u", __func__, index);
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t parent, unsigned int slot, nvmlDevice_t *device)
{
    *device = (nvmlDevice_t)((uintptr_t)parent + SLOTS * (1 + slot));
    return ask("%s %s %u", __func__, name_of(parent), slot);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    return text(ask("%s %s", __func__, name_of(device)), name, length);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
    return text(ask("%s %s", __func__, name_of(device)), uuid, length);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    nvmlReturn_t code = ask("%s %s", __func__, name_of(device));
    if (code == NVML_SUCCESS)
        sscanf(value, "%llu %llu %llu", &memory->total, &memory->free, &memory->used);
    return code;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    nvmlReturn_t code = ask("%s %s", __func__, name_of(device));
    if (memory->version != nvmlMemory_v2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (code == NVML_SUCCESS)
        sscanf(value, "%llu %llu %llu %llu", &memory->total, &memory->reserved, &memory->free, &memory->used);
    return code;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
    return two(ask("%s %s", __func__, name_of(device)), (unsigned int *)major, (unsigned int *)minor);
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
    return two(ask("%s %s", __func__, name_of(device)), current, pending);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates)
{
    return two(ask("%s %s", __func__, name_of(device)), &rates->gpu, &rates->memory);
}

#define NUMBER_OF_A_DEVICE(function)                                   \
    nvmlReturn_t function(nvmlDevice_t device, unsigned int *into)     \
    {                                                                  \
        return number(ask("%s %s", __func__, name_of(device)), into);  \
    }

NUMBER_OF_A_DEVICE(nvmlDeviceGetMemoryBusWidth)
NUMBER_OF_A_DEVICE(nvmlDeviceGetNumGpuCores)
NUMBER_OF_A_DEVICE(nvmlDeviceGetPowerManagementLimit)
NUMBER_OF_A_DEVICE(nvmlDeviceGetPowerUsage)
NUMBER_OF_A_DEVICE(nvmlDeviceGetMaxPcieLinkGeneration)
NUMBER_OF_A_DEVICE(nvmlDeviceGetMaxPcieLinkWidth)
NUMBER_OF_A_DEVICE(nvmlDeviceGetMaxMigDeviceCount)

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t *mode)
{
    return number(ask("%s %s", __func__, name_of(device)), (unsigned int *)mode);
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t *current, nvmlEnableState_t *pending)
{
    return two(ask("%s %s", __func__, name_of(device)), (unsigned int *)current, (unsigned int *)pending);
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t error, nvmlEccCounterType_t counter,
                                         unsigned long long *count)
{
    nvmlReturn_t code = ask("%s %s %d %d", __func__, name_of(device), (int)error, (int)counter);
    if (code == NVML_SUCCESS)
        sscanf(value, "%llu", count);
    return code;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *correctable, unsigned int *uncorrectable,
                                       unsigned int *pending, unsigned int *failed)
{
    nvmlReturn_t code = ask("%s %s", __func__, name_of(device));
    if (code == NVML_SUCCESS)
        sscanf(value, "%u %u %u %u", correctable, uncorrectable, pending, failed);
    return code;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons)
{
    nvmlReturn_t code = ask("%s %s", __func__, name_of(device));
    if (code == NVML_SUCCESS)
        sscanf(value, "%llu", reasons);
    return code;
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
    return number(ask("%s %s %d", __func__, name_of(device), (int)type), clock);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
    return number(ask("%s %s %d", __func__, name_of(device), (int)type), clock);
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *temperature)
{
    return number(ask("%s %s %d", __func__, name_of(device), (int)sensor), temperature);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *into)
{
    return pci(ask("%s %s", __func__, name_of(device)), into);
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *active)
{
    return number(ask("%s %s %u", __func__, name_of(device), link), (unsigned int *)active);
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link, nvmlIntNvLinkDeviceType_t *type)
{
    return number(ask("%s %s %u", __func__, name_of(device), link), (unsigned int *)type);
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *into)
{
    return pci(ask("%s %s %u", __func__, name_of(device), link), into);
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b, nvmlGpuTopologyLevel_t *level)
{
    return number(ask("%s %s %s", __func__, name_of(a), name_of(b)), (unsigned int *)level);
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b, nvmlGpuP2PCapsIndex_t what, nvmlGpuP2PStatus_t *status)
{
    return number(ask("%s %s %s %d", __func__, name_of(a), name_of(b), (int)what), (unsigned int *)status);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *into)
{
    return processes(ask("%s %s", __func__, name_of(device)), count, into);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *into)
{
    return processes(ask("%s %s", __func__, name_of(device)), count, into);
}

/* "TYPE VALUE" of each field; one without a line is not supported. */
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *fields)
{
    nvmlReturn_t code = ask("%s %s", __func__, name_of(device));
    for (int i = 0; i < count && code == NVML_SUCCESS; i++) {
        fields[i].nvmlReturn = ask("%s %s %u", __func__, name_of(device), fields[i].fieldId);
        if (fields[i].nvmlReturn == NVML_ERROR_FUNCTION_NOT_FOUND)
            fields[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
        else
            sscanf(value, "%d %llu", (int *)&fields[i].valueType, &fields[i].value.ullVal);
    }
    return code;
}
